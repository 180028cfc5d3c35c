"""Safe files: what is read, written and locked by descriptor."""
