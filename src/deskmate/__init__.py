"""Deskmate: an open runtime for teams of coding agents."""
