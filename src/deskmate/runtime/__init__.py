"""The few coroutines, above the rules and the seams.

agent        listen, decide, do one thing, record it: start reading here
mind         the prompt, the calls of the model, making room
calls        running what a model asked for
background   what goes on meanwhile
step_scope   what ends a step before it is done
duties       what a member does for its team between two steps
presence     what a member is seen doing
office       what the agents of a process share
purse        what was spent, and whether a cap is reached
slots        so many model calls at once
feed         what happens, as it happens, for faces
streams      appending what is stamped, trying again what is in doubt, keeping a fold current
transcript   one member's log, and what it remembers
mailbox      sending, hearing, giving back
roster       joining, resting, leaving, policy
board        creating, claiming, completing, releasing
leaving      the end of a member: its record, its tasks, its mail
dismissing   a whole team asked to stop
mirror       readable copies of roster and board, kept current
groups       tasks whose error is the error itself
clock        the machine's own
"""
