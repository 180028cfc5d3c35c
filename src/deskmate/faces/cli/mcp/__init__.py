"""MCP servers, from any shell.

mcp_commands  the group `mcp`, with its help
mcp_output    what its commands print
login_output  what `login` and `logout` print, and what the user pastes
serve_options  the command `mcp serve`, with its options and its help
"""
