"""Tools: what a model can use, each a small object. What a model reads about a tool is in `texts/tools/NAME.md`.

files             read_file, write_file, edit_file, glob, grep
shell             bash, and the parser that tells what a command runs
team              Task, SendMessage, ExitPlanMode, the board and team tools
background_tools  TaskOutput, TaskStop
skill_tool        Skill
result_tool       submit_result, if a program or an option wants a result of some shape
json_result       the same for a JSON schema
every_tool        all of them, for each kind of agent
tool_set          the tools of one agent: told to its model at once, imported when it calls one
tool_base         what all tools share: name, description, arguments
clip              limits for everything a model reads
durations         time limits, in seconds or in the milliseconds that models send

Which agent has which tool is in `core.policy.tool_table`. A tool touches nothing but the `ToolContext` it is given.
"""

from deskmate.tools.tool_base import spec
from deskmate.tools.tool_set import ToolSet, tools_for

__all__ = ["ToolSet", "spec", "tools_for"]
