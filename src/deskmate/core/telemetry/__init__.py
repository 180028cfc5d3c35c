"""Spans and metrics of a team, as a projection of its streams.

conventions    the names of attributes and metrics
span_values    spans, and ids that are the same whenever they are computed
usage_facts    what entries say about model calls, as attributes
agent_spans    turns, model calls and tool calls, from a transcript
roster_spans   runs of the team and new members, from the roster
merge_spans    work that was merged or returned, from the board
team_metrics   what a team used and how it is, as metrics
projection     all of it together: records in, spans out

The same records give the same spans with the same ids, in whatever portions they are read. So a crash loses no span,
and reading the streams again makes the same.
"""
