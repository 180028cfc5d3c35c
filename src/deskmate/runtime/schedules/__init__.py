"""Work by the clock.

schedule_watch   follows the schedules of a team, and imports nothing for a team that has none
schedule_keeper  does what the schedules of a team say when they are due
schedule_list    the schedules of a team: created, deleted, and recorded as due by one process
"""
