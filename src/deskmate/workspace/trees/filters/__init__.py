"""Files that git converts when it reads or writes them, such as those of Git LFS.

git_filters  which filters there are, whose they are, and which files they convert
lfs_objects  the content of large files, taken out of a member's tree with its commits
"""
