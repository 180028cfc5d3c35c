"""What all faces share.

items               entries, mail, tasks and questions as typed items, the same for every face
chat                what can be typed in a conversation
commands            commands from files, in a conversation
handover            the work of teammates with their own trees, as it is reported
mentions            what a typed text names, beside its words
mcp                 MCP servers in a conversation
http                servers on this machine
hooks               the files with hooks, as lines
rewind              going back to an earlier point
terminal_text       words of models and tools made safe for a terminal
text_tables         rows in columns, at any width
listings            members, board, mail and cost as lines
health_lines        what was checked, as lines
progress_lines      what a team does, one line each
run_start           from what was typed to a request, and what is said on leaving
trust_prompt        what a repository tells agents, shown before it counts
command_start       suggestions for mistyped words, stdin, fast imports
stop_signals        signals that stop a run
interrupt_key       Ctrl-C at a terminal: interrupt first, then stop
output_stream       output that never blocks the program
error_log           errors as people read them, and tracebacks in a private file
exit_codes          exit codes that several commands share
"""
