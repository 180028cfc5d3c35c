"""The rules of hooks: which run at an event, what they are told, what their output means.

hook_tables   the events, a hook, all hooks that are in force, and how a file describes them
hook_inputs   the JSON that a hook reads
hook_memory   what an agent knows of hooks, as a part of its memory
hook_outputs  what a hook answered, and what all hooks of one event mean together
tool_aliases  the names that Claude Code has for our tools
"""
