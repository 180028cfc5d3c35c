"""What an agent does once the rules have decided.

agent_work       everything one agent works with, as one value
surroundings     what an agent hears and sees before it decides, and what it waits for
working_steps    ask the model, run calls, make room: the steps that can be cut
parking          an agent that cannot continue, or leaves
model_calls      builds the prompt, calls the model, makes room when the context is full
calls            runs what a model asked for, also in the background
goal_checks      checks the goal of a lead
team_duties      what an agent does for its team between two model calls
status_reporter  what a member is shown to be doing
step_scope       what ends a step before it is done: interrupt, shutdown, time limit
mail_watch       mail that arrives while something runs
live_words       what a model is saying now, for live display
wait_times       how long each open thing has lasted in this process
"""
