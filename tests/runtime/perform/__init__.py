"""What an agent does once the rules have decided."""
