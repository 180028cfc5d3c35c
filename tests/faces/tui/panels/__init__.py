"""Each panel of the screen on its own."""
