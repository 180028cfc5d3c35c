"""Prompts: what a model is asked, in words no provider owns.

prompts           prompts, replies and their parts
system_prompt     the system prompt of an agent
rendering         from transcript entries to a prompt
recorded_replies  from a reply to the entry that records it
frames            mail, tasks and notices in tags that no text inside can close
task_lines        tasks as one line of text
user_frames       commands, notes and files of the user in a message
call_texts        tool calls as our texts print them
argument_names    other names that models use for arguments
compaction        how full the context is, what can be cleared, and what a summary must keep
context_use       what fills the context of an agent
live_output       what a running command has printed so far
skills            instructions that an agent loads when it needs them
"""
