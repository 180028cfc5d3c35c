"""What becomes of the work of teammates with their own trees.

running_handover  the branch of a team, merged into the user's branch while the team runs
team_handover     the same when the user wants it, or at the end
tree_parts        all of it, loaded when a member first has a tree
tree_choice       which teammates get their own trees, and how these are made
tree_removal      trees that nobody needs any more
"""
