"""What can be typed in a conversation, for every face that has one.

chat_lines       carries out one line: a message, or a slash command
chat_commands    the slash commands and their help
completions      what a menu offers for the word that is being typed
budget_command   /budget: limits shown and changed
question_text    questions as they are shown
input_history    what was typed before
mode_command     /mode and /delegate: what is permitted, shown and changed
status_commands  /status, /context, /agents, /config and /doctor: how things are
export_commands  /export, /copy and /diff: what was said and changed
session_picker   a list of teams to choose from, at a terminal
typed_answers    answers that are typed, and which question each of them means
user_commands    `!COMMAND` and `#NOTE`: what is told to the lead with the next message
user_alerts      telling a person who looks elsewhere: a bell, a notification, a title, or a command
"""
