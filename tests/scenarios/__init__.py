"""Whole runs of an agent over HTTP, against a provider on this machine that takes no nonsense."""
