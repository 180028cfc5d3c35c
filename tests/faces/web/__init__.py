"""The web page and its interface for programs."""
