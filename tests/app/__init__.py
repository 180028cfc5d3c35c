"""The app: where it works, and what it finds there."""
