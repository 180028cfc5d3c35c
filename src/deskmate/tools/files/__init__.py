"""Tools for files.

file_tools      read_file, write_file, edit_file
file_kinds      text or other, decided by the bytes
edits           replacing exactly one place in a text
diffs           what changed, for a screen
known_versions  files as they were last read or written
search_tools    glob, grep
"""
