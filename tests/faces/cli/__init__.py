"""Commands that look at a team or act on it."""
