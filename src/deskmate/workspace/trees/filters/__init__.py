"""Files that git converts when it reads or writes them, such as those of Git LFS.

git_filters  which filters there are, whose they are, and which files they convert
"""
