"""The folder an agent works in, and what keeps its tools there. `ports.Workspace` is what others see of it.

local_workspace  the workspace on this machine: files by descriptor, commands in their own process group
paths            paths followed one descriptor at a time, never out of the root
workspace_files  reading and replacing one file
search           finding files, and the command that searches them
globs            which paths a glob pattern matches
command          one command, from its start until nothing of it is left
start_gate       holds a command until all its limits are in place
command_script   the text of a command, passed so that no process list shows it
command_output   what a command prints: bounded, kept, made readable
processes        which processes belong to a command, and ending them
sweep            ends what an earlier process left running
blobs            what a member keeps outside its context, and the names of our own folders
descriptors      how many files may be open, and so how much runs at once
sandbox          what keeps a command in the workspace
git              git's own files, read and protected without running git
trees            a tree for each member, and the branch where their work comes together
checkpoints      the files of a workspace, saved before each message of the user, and restored
"""
