"""The files of a workspace, saved before each message of the user, and restored.

points            what a checkpoint is, how they are kept, and what a restore does with each file
git_checkpoints   checkpoints in a git repository: commits that no branch has
git_scripts       the shell commands with which git reads and writes the files
copy_checkpoints  checkpoints anywhere else: copies in Deskmate's own folder
file_copies       the files of a folder, read and written by descriptor
file_secrets      which files have a secret, so that they are not saved
choice            which of the two a workspace has
"""
