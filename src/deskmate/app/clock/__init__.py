"""Work by the clock, for the user.

schedule_actions  look at schedules, create and delete them
team_daemon       starts teams that have something to do by the clock
"""
