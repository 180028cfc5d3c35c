"""Hooks, for every face.

hook_lines  the files with hooks, which are in force, and what is not supported
"""
