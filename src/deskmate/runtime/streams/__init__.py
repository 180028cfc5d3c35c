"""Live objects over a store: each keeps a fold current and appends with compare-and-set.

log_writer       the only way the runtime appends to a store, and the base of every fold
mailbox          sending, receiving and returning mail
board            creating, claiming, completing and releasing tasks
roster           joining, resting, leaving, and the permission policy
transcript       the log of one member, and the memory folded from it
budget           what a team has spent, and whether a limit is reached
call_slots       at most so many model calls at once in all processes of a team
inbox_folds      what the mailboxes of a team ask of their owners
question_list    the open questions of a team
read_positions   how far somebody has read each stream
readable_copies  readable copies of roster and board for people and scripts
"""
