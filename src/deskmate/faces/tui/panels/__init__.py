"""The panels of the screen.

conversation_panel  the transcript of the chosen member
grid_panel          several conversations side by side
members_panel       who is on the team
board_panel         the board
board_outline       the order and text of its tasks
mail_panel          mail between members
question_panel      what waits for an answer
question_details    what a person must see before answering
question_sheet      how the parts of a question share the lines
answer_guard        which keys were meant as an answer
draft_input         what is being typed
head_line           the first line
key_line            the last line
"""
