"""Faces: where people meet a team. Each stands on `deskmate.app` and its own toolkit.

cli    the command line; its texts, tables and listings serve all faces
talk   what is typed in a conversation, for every face that has one
tui    the terminal UI: a team on one screen
"""
