"""The rules: pure functions of values. No await, no clock, no files, no logging.

names        who may be called what
records      what a store keeps: records, damage, and what may be encoded
messages     the kinds of mail and their envelope
tasks        the board: events, their fold, the rules of claiming
members      the roster: events, their fold, status
entries      what a transcript holds
memory       the fold of a transcript
handshakes   requests and their one response, as a table
policy       rules, modes and verdicts
roles        tools and who has them, one table
decide       what an agent does next
"""
