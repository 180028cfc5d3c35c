"""What any face can read of a team on disk."""
