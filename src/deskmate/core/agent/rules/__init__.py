"""What an agent does next, and what is done about its process. Start reading at `decide`.

decide      the next action, as an ordered table of rules
goal_rules   when the goal of a lead is checked
end_of_run  how an unattended run ends
supervise   whether a teammate is started, ended, parked or let go
hook_rules  which hooks run before what was decided
quiet       whether a team, or an agent, has nothing left to do
task_fit    which members can take a task by themselves
nudges      work that is left at the end, and who is reminded of it
"""
