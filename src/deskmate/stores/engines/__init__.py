"""Engines: what keeps teams. Files in the workspace are the default, and a server can keep them for many machines.

engine       what an engine can do, and what a person sees of a team that it keeps
engine_table which engine belongs to a URL
file_engine  the default: folders of the workspace
"""
