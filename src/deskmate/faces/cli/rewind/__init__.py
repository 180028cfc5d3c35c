"""Going back to an earlier point, from any shell.

rewind_commands  rewind, fork and compare, with their help
rewind_output    what they print and ask
"""
