"""The command line. `main` is where it begins; what a command does not need it does not import.

main           the entry: version, exit codes, what nobody else caught
commands       what can be typed, and the help
team_commands  those that look at a team or act on it
starting       suggestions, words, stdin, quick imports
completing     what a shell offers while a command is typed
reference      every command in Markdown, for the docs
sitting        a conversation as it was asked for, and what is said on leaving
plain          a conversation line by line
typed          what is typed, at a keyboard or in a pipe
telling        a conversation as it is printed
turns          whether the lead has answered
listings       members, board, mail and cost as lines
looking        teams, board, inbox, cost, as they are printed
transcripts    what a member did, as it is printed and followed
acting         messages, tasks and stops by the user's hand
removal_command  teams removed and pruned
doctor         checks and what to do, and losses accepted
trusting       what a folder tells agents to do, shown and asked about
trust_command  folders and teams trusted, listed, taken back
tables         rows in columns, at any width
run            one run carried out: settings, feed, outcome
demo           a rehearsed team, watched
play           one teammate played for the process that started this one
brake          signals, and what else stops a run
reins          a brake whose Ctrl-C interrupts first
outlet         writing that keeps nobody waiting
error_log      tracebacks, for who mends Deskmate
printing       progress for people, on stderr
outputs        the result for programs, on stdout
texts          words made fit for a terminal
"""
