"""Hooks of an agent: what runs them, and what is recorded of it. Imported only if there are hooks.

hook_steps   runs the hooks of an event and records what they want
merge_hooks  runs the hooks of tasks that the merge queue completes
"""
