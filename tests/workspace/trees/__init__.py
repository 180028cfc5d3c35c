"""Trees of members, on real repositories."""
