"""Git's own files, read and protected without running git. Only plain_merge runs it.

repositories  where git keeps the repository of a workspace, and those inside it
revisions     which commit a folder is at
git_config    paths that git's settings name
git_index     the names in git's index
git_lists     unsafe names in the lists that git writes
new_locks     which lock files a command has left
git_entries   links, special files and locks in git's folder
git_watch     what a command leaves in git's folder that would make the user's git do harm
plain_merge   a merge of two commits with a git before 2.38, file by file
"""
