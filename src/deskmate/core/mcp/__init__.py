"""MCP servers: who they are and what of theirs counts. The connections are in the package `mcp`.

server_entries  a configured server, and how configuration files describe it
server_tools    the tools that a server lists, as far as they can be offered
tool_approvals  which tools of a server are approved, and what changed since
tool_search     tools whose schemas are read on demand
"""
