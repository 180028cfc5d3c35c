"""Faces: where people meet a team. Each stands on `deskmate.app` and its own toolkit, and on no other face.

cli    the command line
"""
