"""What becomes of the work of teammates with their own trees.

team_handover  the branch of a team, merged into the user's branch
tree_choice    which teammates get their own trees, and how these are made
tree_removal   trees that nobody needs any more
"""
