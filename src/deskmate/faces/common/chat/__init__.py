"""What can be typed in a conversation, for every face that has one.

chat_lines      carries out one line: a message, or a slash command
chat_commands   the slash commands and their help
completions     what a menu offers for the word that is being typed
budget_command  /budget: limits shown and changed
question_text   questions as they are shown
input_history   what was typed before
"""
