"""What a command can leave in git's folder."""
