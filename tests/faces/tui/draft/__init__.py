"""What is typed on the screen."""
