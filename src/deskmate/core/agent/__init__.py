"""One agent: what it remembers, what it sees, and what it does next. Start reading at `rules`.

entries       the records of a transcript
memory        what an agent knows, folded from its transcript
inbox         what a mailbox asks of its owner, folded from its mail
view          everything an agent sees when it decides
actions       the things an agent can do next
rules         what an agent does next
teams         a lead with two teams
answer        the answer of a turn, taken from the transcript
turn_results  what came of the last turn
open_calls    tool calls that have no result yet
tool_results  what a tool call returned
work_mode     plan mode, delegate mode, attended or not, and the tools each mode leaves
situation     what an agent must know of its team at any moment
notices       what an agent is told about its tasks and its team
merge_texts   what a member is told when its work was merged, or was not
"""
