"""What is typed in a conversation, carried out on real teams."""
