"""Attacks by text: what hostile words can bring an agent to do, and what comes of it."""
