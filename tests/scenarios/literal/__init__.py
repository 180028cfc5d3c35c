"""Stories played by an agent that knows nothing but its prompt."""
