"""Copying teams from one store to another.

team_migration  which teams are copied together, and who may not use them meanwhile
stream_copy     the copy of one team: record by record, continued after a kill, and compared at the end
"""
