"""A team that another process runs, or nobody: looked at from here.

attached_session  the session of such a screen
team_on_disk      a team in any state, only looked at
"""
