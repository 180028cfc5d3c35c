"""What an agent does next."""
