"""Text, lines and pieces as the screen draws them."""
