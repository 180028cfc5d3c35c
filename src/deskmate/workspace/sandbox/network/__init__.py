"""The hosts that a confined command may reach.

allowed_hosts  which hosts are on the list
host_gate      asks about other hosts while a command runs
proxy          the only way from a confined command to its hosts
network_words  what the model is told about hosts that were not reached
"""
