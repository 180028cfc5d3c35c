"""A tree for each member, and the branch where their work comes together.

git_program      git as Deskmate itself runs it: on a given repository, without hooks
git_settings     the settings of a repository, read with one command
ref_locks        locks on refs that a killed git left
team_branch      the branch of a team in the user's repository: merging into it and moving it forward
merge_target     the same branch as the merge queue uses it, with a tree for checks
handover         the work of a team in the user's branch and files, without losing anything of the user's
own_tree         a member's own copy of the repository, how it is set up, and how its work gets out of it
team_trees       the trees of one team, and where its branch begins
snapshot_script  the commands that save the files of a repository as a tree
trial_merges     which commits conflict, and in which files
unmerged_work    what members have not merged yet, and where it conflicts
branch_changes   what the branch of a team changes: all of it, or the work of one task
tree_inspection  what is in a member's tree and nowhere else
tree_places      where the trees are, which repositories can have them, and making them
travel           code on its way to other machines and back
pool             trees that are used again by later members
filters          files that git converts when it reads or writes them, such as those of Git LFS
"""
