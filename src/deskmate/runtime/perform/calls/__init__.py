"""Calls of tools.

tool_calls    runs what a model asked for: journal, tool, result
call_context  what a tool may touch while it runs one call
background    commands and subagents that run in the background
"""
