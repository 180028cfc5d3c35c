"""Calls of tools.

tool_calls      runs what a model asked for: journal, tool, result
call_context    what a tool may touch while it runs one call
host_questions  questions to the user about hosts that commands want to reach
background      commands and subagents that run in the background
"""
