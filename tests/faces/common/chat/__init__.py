"""What is typed in a conversation."""
