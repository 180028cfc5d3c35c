"""Teams for programs: what `from deskmate import ...` offers besides events and errors.

team           Team, run, resume
function_tool  a typed function as a tool
result_types   the tool for a result of a type
"""
