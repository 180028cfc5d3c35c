"""Processes killed at any instant, and what they leave behind."""
