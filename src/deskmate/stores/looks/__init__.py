"""One team as a person sees it, running or not, damaged or not.

file_look   the files of a team
truncation  files that end too early
"""
