"""MCP servers in a conversation.

mcp_lines     /mcp: the state of each server, and what the user can do about it
mcp_mentions  resources and prompts of servers that the user names
"""
