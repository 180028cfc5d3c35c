"""What an agent remembers, and what it does next."""
