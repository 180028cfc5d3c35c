"""Trees that are used again by later members.

tree_pool     trees that are free, bounded by number and age, and what waits to be deleted
tree_remains  what a member left in its tree, taken out before the next member gets it
"""
