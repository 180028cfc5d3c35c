"""Files and folders, opened safely. Every other package that needs care with a file uses it.

safe_files      regular files opened, bounded, appended, replaced and locked, no symlink followed
private_folder  folders opened by descriptor, their files and lock, no symlink followed
disk_calls      the few system calls that write, in one object that tests replace
worker_threads  threads for blocking work
"""
