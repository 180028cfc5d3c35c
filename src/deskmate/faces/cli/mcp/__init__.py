"""MCP servers, from any shell.

mcp_commands  the group `mcp`, with its help
mcp_output    what its commands print
"""
