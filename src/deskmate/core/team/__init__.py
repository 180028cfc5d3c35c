"""A team: its members, tasks and messages, and the rules for changing them.

status          what a member is doing, as a closed set of values
roster_records  the records of the roster
members         the roster: members, permission policy, and the rules for its records
roster_fold     the roster folded from its records
tasks           tasks and the records of the board
board_fold      the board folded from its records
board_rules     who may do what to which task, and when
task_fields     the fields of a task to create or change
messages        the kinds of mail and their envelope
handshakes      requests with exactly one response, as one table
open_questions  what waits for a person's answer
spending        what model calls cost, and the limits on it
caps            how much a team may spend and how long it may take
"""
