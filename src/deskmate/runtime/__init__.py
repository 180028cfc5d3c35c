"""The coroutines: they carry out what the rules in `core` decide. Start reading at `agent`.

agent         the loop: listen, decide, do one thing, record it
perform       what an agent does: model calls, tool calls, team duties
streams       live objects over the store: mailbox, board, roster, transcript, budget
team_state    what the agents of one team share in a process
hooks         runs hooks and records what they want
agent_parts   what one agent is made with: its model, tools, workspace and prompt
running_team  a team that runs in this process: its teammates, its merge queue, and its readable copies
radar         warnings of conflicts, while a team runs
merge_queue   merges the work of members into the branch of their team
travel        code on its way between the lead and members on other machines
schedules     work by the clock, while a team runs
team_players  keeps one running agent for every member that has not left
supervisor    keeps one teammate running until it has left
dismissal     asking a whole team to stop
departure     a member leaves: its tasks, its record, its mail
events        what happens, as it happens, for faces
event_lines   events as JSON lines, for other processes
system_clock  the clock of the machine
task_groups   task groups that raise the error itself, not a group of one
"""
