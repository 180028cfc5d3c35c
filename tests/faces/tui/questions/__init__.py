"""Questions on the screen, and how they are answered."""
