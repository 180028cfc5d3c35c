"""Commands for hooks.

hook_commands  hooks and hooks test, with their help
hook_output    what they print
"""
