"""What an agent does next. Start reading at `decide`.

decide      the next action, as an ordered table of rules
end_of_run  how a run ends that nobody attends
quiet       whether a team has nothing left to do
nudges      work that is left at the end, and who is reminded of it
"""
