"""MCP servers: who they are and what of theirs counts. The connections are in the package `mcp`.

server_entries    a configured server, and how configuration files describe it
"""
