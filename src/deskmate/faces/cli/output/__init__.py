"""What the commands print.

advice_output      what parallel work was worth
team_output        teams, board, inbox, cost
tail_output        a member's transcript, followed
action_output      send, stop, and changes to the board
agent_type_output  the types of agents that the lead can start
team_file_output   teams that are described in files
doctor_output      checks, and what to do about them
telemetry_output   spans of a team
json_output        results for programs
"""
