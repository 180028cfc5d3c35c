"""Tools for the team."""
