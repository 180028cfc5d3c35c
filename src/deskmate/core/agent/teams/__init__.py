"""A lead with two teams: its first team, called home, and one that it created.

known_team  what an agent knows of one team
addresses   the names of members of the home for a lead that leads another team
"""
