"""Teams in processes of their own, which outlive the program that started them.

lead_process   start the process of a lead, and run the lead in it
client_limits  what a client that acts for the user may do to a team
"""
