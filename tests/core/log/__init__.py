"""Records, names and the persistent map."""
