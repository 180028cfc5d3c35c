"""Tools for the team.

task_tool       Task: start a subagent or a teammate
send_message    SendMessage: mail, and both sides of a handshake
exit_plan_mode  ExitPlanMode: submit a plan
board_tools     TaskCreate, TaskGet, TaskUpdate, TaskList
task_update     what a TaskUpdate changes, step by step
team_tools      TeamCreate, TeamDelete
ask_user        AskUser: questions with options
schedule_tools  CronCreate, CronList, CronDelete
"""
