"""A team: its members, tasks and messages, and the rules for changing them.

members         roster records and their rules, member status, permission policy
roster_fold     the roster folded from its records
tasks           tasks and the records of the board
board_fold      the board folded from its records
board_rules     who may do what to which task, and when
task_fit        which members can take a task by themselves
messages        the kinds of mail and their envelope
handshakes      requests with exactly one response, as one table
open_questions  what waits for a person's answer
spending        what model calls cost, and the limits on it
caps            how much a team may spend and how long it may take
quiet           whether a team has nothing left to do
team_titles     the title of a team in lists
"""
