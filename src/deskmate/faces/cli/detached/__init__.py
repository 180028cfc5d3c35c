"""Teams that nobody has a window on.

lead_command  the lead of such a team, in the process that runs it
"""
