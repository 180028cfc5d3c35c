"""The panels of the screen.

conversation_panel  the transcript of the chosen member
search_line         what to find in it
search_hits         where a searched text is
grid_panel          several conversations side by side
members_panel       who is on the team
board_panel         the board
team_rows           its rows, by team
board_outline       the order and text of its tasks
mail_panel          mail between members
head_line           the first line
key_line            the last line
user_mail           what agents wrote to the user, as it arrives
"""
