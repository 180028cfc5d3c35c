"""Tools, each used as a model would use it."""
