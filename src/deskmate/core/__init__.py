"""The rules of Deskmate, as pure functions of values. No await, no clock, no files, no logging.

values           how immutable classes are made
checks           what `deskmate doctor` finds
front_matter     the fields at the start of a Markdown file
line_changes     which lines of a text changed
merge_batches    how many tasks the merge queue checks at once, and which one a failed check belongs to
picture_formats  pictures that models can see: their media type and their size in pixels
log              records, names and the values that streams are made of
team             members, tasks, messages and what the rules allow
schedule         work by the clock
advice           what parallel work can be worth, or was
goals            what must be so before a lead may end its work
user_questions   questions with choices that a member asks the user
agent            what one agent knows and what it does next
radar            warnings of conflicts between members that work in different trees
telemetry        spans and metrics of a team, as a projection of its streams
mcp              configured MCP servers, and what of theirs counts
hosts            other machines that run teammates, and which of them a teammate runs on
hooks            which hooks run at an event, and what their output means
policy           permission rules, secrets and trusted files
travel           how code gets to members on other machines and back
profiles         agent types, and the files that describe them
commands         prompts that a person sends by name
prompt           what a model is asked, and how its context is kept small
"""
