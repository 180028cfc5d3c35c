"""Attempts to get out of the workspace, and the machine they are tried on."""
