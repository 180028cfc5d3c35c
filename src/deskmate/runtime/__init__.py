"""The few coroutines, above the rules and the seams.

streams      appending what is stamped, trying again what is in doubt, keeping a fold current
transcript   one member's log, and what it remembers
mailbox      sending, hearing, giving back
roster       joining, resting, leaving, policy
board        creating, claiming, completing, releasing
leaving      the end of a member: its record, its tasks, its mail
clock        the machine's own
"""
