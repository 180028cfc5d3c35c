"""Code on its way to other machines and back, as git and the disk see it.

code_bundles      bundles of commits: made, and taken into a repository after every check
taken_pack        a pack that git checks before it becomes a part of the repository
travelling_files  files on their way: those to send, and those that arrive in pieces
included_archive  the ignored files that every tree has, as one file
host_clone        the repository that another machine keeps for the trees of its members
"""
