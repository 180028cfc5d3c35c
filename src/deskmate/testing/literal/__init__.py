"""literal."""
