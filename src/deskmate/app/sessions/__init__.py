"""What every session has.

team_session     a team, what is seen of it, and what the user says, answers and sets
shown_team       what a session shows of one team
mentioned_files  text files that the user mentions
abandoned_teams  teams in which nothing was ever said
"""
