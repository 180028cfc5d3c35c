"""Running teammates on other machines, from any shell.

host_commands  host and hosts, with their help
host_output    what they print
"""
