"""The command line. A command imports only what it needs.

main              the entry point: version, exit codes, uncaught errors
root_commands     run, resume, demo and the other main commands, with their help
team_commands     commands that look at a team or act on it
run_options       the options of the commands that run a team
run_command       run and resume, from arguments to exit code
demo_command      the demo: plays it, kills it and resumes it
demo_act          one act of the demo, in a process of its own
demo_page         the last page of the demo
play_command      one teammate for the process that started this one
trust_command     trust: list, add, remove
removal_command   teams rm and prune
shell_completion  completion for shells
reference_page    every command in Markdown, for the docs
mcp               MCP servers: list, add, test, remove
trees             merge, diff and trees: the branch of a team and the trees of its teammates
hooks             hooks and hooks test
output            what the commands print
rewind            going back to an earlier point
stores            migrate: teams in another store
hosts             host and hosts: teammates on other machines
pages             web, export and telemetry: teams in a browser or a collector
plain             the plain chat, line by line
clock             schedule and daemon: work by the clock
detached          teams that nobody has a window on
"""
