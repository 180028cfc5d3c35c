"""Commands from files: what a file says, and what becomes of arguments."""
