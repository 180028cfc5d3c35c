"""The sandbox: what it lets through, what it hides, what it limits."""
