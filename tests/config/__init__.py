"""Settings: who wins, what is refused, and which model follows."""
