"""Trees that are used again."""
