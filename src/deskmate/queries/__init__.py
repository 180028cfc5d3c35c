"""What any face may ask about a team on disk. Nothing here writes or holds a lock.

stream_reader  the streams of a team, damaged or not
team_view      who is on a team, its board, its cost
member_view    a member's mail and transcript
tree_view      the trees of teammates, and the branches of teams
user_messages  what the user said to a lead, and which files its team wrote
team_news      whether anything has happened in a team, and waiting for it
team_advice    what a finished team shows about parallel work
team_results   what came of a team: answer, cost, time, files
damage         what of a team cannot be read, and what that stops
installation   how Deskmate was installed, and which optional parts are there
model_server   whether a model server on this machine shows tools to its models
health         whether machine, settings and workspace are ready for a team
"""
