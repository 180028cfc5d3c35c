"""A second screen on a team that another process runs.

attached_session  the session of such a screen
"""
