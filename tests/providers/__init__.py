"""A provider of our own, and the real clients against it."""
