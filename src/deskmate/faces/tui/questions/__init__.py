"""Questions to the user, and how they are answered.

question_panel    what waits for an answer
question_queue    the open questions, and the one in front
question_details  what a person must see before answering
plan_text         a plan as it is read before it is approved
question_sheet    how the parts of a question share the lines
answer_options    the possible answers
answer_list       the list that an answer is chosen from
answer_guard      which keys were meant as an answer
"""
