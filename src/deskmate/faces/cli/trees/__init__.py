"""Commands for the branch of a team and the trees of its teammates.

tree_commands  merge, diff, conflicts and trees, with their help
tree_output    what they print
"""
