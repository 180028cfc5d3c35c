"""MCP servers: who they are and what of theirs counts. The connections are in the package `mcp`.

server_entries  a configured server, and how configuration files describe it
server_tools    the tools that a server lists, as far as they can be offered
tool_approvals  which tools of a server are approved, and what changed since
tool_search     tools whose schemas are read on demand
forms           what the user is asked to fill in, by a server during a call or by a member
server_logins   the login of the user at a server, and which addresses a server may name
"""

# The folder with the files of logins, in Deskmate's state folder. It is here so that looking for it imports nothing.
LOGINS = "mcp-logins"
