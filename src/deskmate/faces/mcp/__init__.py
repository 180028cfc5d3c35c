"""An MCP server: teams as tools for other programs. Only `deskmate mcp serve` imports this.

serve_command   serve, from options to exit code
mcp_server      the server: which tools it has, and what clients read about it
look_tools      tools that look at teams
act_tools       tools that act on teams as the user
serving         what a server was started with, and what it lets clients do
shown_results   what tools return
entry_results   items of a transcript as results
shown_text      words of members, bounded and made safe for a client
team_resources  teams as resources
loopback        the server over HTTP, on this machine only
http_guard      who may send requests to it
access_token    the token that clients must send
"""
