"""Checkpoints of the files of a workspace."""
