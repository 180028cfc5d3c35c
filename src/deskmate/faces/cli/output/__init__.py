"""What the commands print.

team_output    teams, board, inbox, cost
tail_output    a member's transcript, followed
action_output  send, stop, and changes to the board
doctor_output  checks, and what to do about them
json_output    results for programs
"""
