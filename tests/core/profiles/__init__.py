"""Agent types and the files that describe them."""
