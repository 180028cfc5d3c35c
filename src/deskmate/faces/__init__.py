"""Faces: where people meet a team.

common  what all faces share: text for terminals, tables, chat commands, signals
cli     the command line and the plain chat
tui     the terminal UI
web     the page in a browser
mcp     an MCP server: teams as tools for other programs
"""
