"""Hooks on this machine: the files that describe them, and how they are run. Imported only if there are hooks.

hook_sources  the files of the user and of a trusted workspace that describe hooks
hook_yaml     the hooks of an agent file, from YAML
hook_process  one hook, as a command from its start until nothing of it is left
hook_request  one hook that is an address
hook_runner   runs the hooks of an event together
"""
