"""The rules: pure functions of values. No await, no clock, no files, no logging.

names        who may be called what
records      what a store keeps: records, damage, and what may be encoded
facts        what a record says, one class per kind
seen         a map that only grows
messages     the kinds of mail and their envelope
tasks        the board: what is on it and what can happen to it
claims       which of that the rules allow
boards       what the records make of it
members      the roster: events, their rules and fold, status
entries      what a transcript holds
memory       the fold of a transcript
handshakes   requests and their one response, as a table
policy       rules, modes and verdicts
roles        tools and who has them, one table
decide       what an agent does next
"""
