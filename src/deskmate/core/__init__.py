"""The rules: pure functions of values. No await, no clock, no files, no logging.

letters      scripts, and letters that look like others
names        who may be called what
titles       what a team is called in lists
records      what a store keeps: records, damage, and what may be encoded
facts        what a record says, one class per kind
seen         a map that only grows
messages     the kinds of mail and their envelope
tasks        the board: what is on it and what can happen to it
claims       which of that the rules allow
boards       what the records make of it
members      the roster: events, their rules, status
rosters      what the records make of it
entries      what a transcript holds
answer       what an agent answered, told from its transcript
memory       the fold of a transcript
open_calls   calls without a result yet
work_mode    how an agent may work: plan mode, delegating, attended, and its tools
handshakes   requests and their one response, as a table
policy       rules, modes and verdicts
patterns     what the text in a rule matches
claude_rules  rules as they are written for Claude Code, in our words
roles        tools and who has them, one table
view         what an agent sees when it decides
quiet        whether a team has come to rest
nudges       work that was left, and who is reminded of it
decide       what an agent does next
prompts      what a model is asked and what it answers
rendering    from a transcript to a prompt, and from a reply to an entry
call_texts   calls as our texts print them
frames       how mail and news stand in a prompt
briefs       the system prompt
compaction   how full a context is, and what makes room
results      what a call came to
skills       what an agent can be taught when it needs it
news         what an agent is told of its tasks and its team
situation    what an agent must know of its team at any moment
caps         how much a team may spend
spending     what model calls came to, and whether a cap is reached
redaction    secrets found in a text and replaced by stand-ins
secret_shapes   what keys of vendors look like
secret_contexts what tells a secret by where it is
stand_ins    the way from a stand-in back to its secret
takers       who can take a task
fingerprints telling by its bytes whether a file has changed
"""
