"""Benchmarks and long fault runs of Deskmate."""
