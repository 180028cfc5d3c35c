"""Teams described in files: who is on the team, its tasks, limits and first words.

team_description from the text of a file to what a request asks for
team_file_places where such files are, and which of them count
team_set_up      who and what is in a team from the start, put there once
"""
