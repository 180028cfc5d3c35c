"""Work by the clock: what a lead is told, or what goes on its board, at which times.

schedules  the records, their fold and what may be recorded
due_times  when a schedule is due, and which due times were missed
when_text  times and intervals as people write and read them
"""
