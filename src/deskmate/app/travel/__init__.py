"""Code that travels, put together from the store and git.

lead_travel  the lead's side of a team
host_trees   the trees of members on this machine, if the lead is on another one
"""
