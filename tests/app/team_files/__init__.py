"""Teams described in files."""
