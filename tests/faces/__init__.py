"""The faces: commands, conversations and the screen."""
