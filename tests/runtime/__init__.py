"""The runtime: agents, their streams, and what they do."""
