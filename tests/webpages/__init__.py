"""Pages of the web, read for agents."""
