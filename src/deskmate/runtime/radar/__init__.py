"""Warnings of conflicts, while a team runs.

conflict_radar  looks at the trees of members, and puts what meets on the board
file_writers    who changed a file that several agents share
"""
