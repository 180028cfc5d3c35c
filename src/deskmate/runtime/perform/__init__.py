"""perform."""
