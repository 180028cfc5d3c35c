"""The command line. `main` is where it begins; what a command does not need it does not import.

main           the entry: version, exit codes, what nobody else caught
commands       what can be typed, and the help
team_commands  those that look at a team or act on it
starting       suggestions, stdin, quick imports
looking        teams, board, inbox, cost, as they are printed
transcripts    what a member did, as it is printed and followed
acting         messages, tasks and stops by the user's hand
tables         rows in columns, at any width
run            one run carried out: settings, feed, outcome
demo           a rehearsed team, watched
play           one teammate played for the process that started this one
brake          signals, and what else stops a run
outlet         writing that keeps nobody waiting
error_log      tracebacks, for who mends Deskmate
printing       progress for people, on stderr
outputs        the result for programs, on stdout
texts          words made fit for a terminal
"""
