"""What every session has.

team_session     a team, what is seen of it, and what the user says, answers and sets
run_outcome      how a run ended: its answer, why, and what it cost
shown_team       what a session shows of one team
wanted_result    a result that the lead must submit before its run is over
mentioned_files  text files that the user mentions
abandoned_teams  teams in which nothing was ever said
"""
