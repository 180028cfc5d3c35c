"""Files and folders, opened safely. Stores, workspace and trust build on it.

safe_files      regular files opened, bounded, replaced and locked, no symlink followed
private_folder  folders opened by descriptor, their lock, no symlink followed
disk_calls      the few system calls that write, in one object that tests replace
"""
