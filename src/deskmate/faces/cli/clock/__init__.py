"""Work by the clock.

clock_commands  schedule and daemon, with their help
clock_output    what they print
"""
