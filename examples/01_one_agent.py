"""Give one agent a goal in this folder, and print its answer and what it cost.

    ANTHROPIC_API_KEY=... python examples/01_one_agent.py

The agent can read files but not change them, because nobody is there to give permission.
"""

from deskmate import run_sync

outcome = run_sync("In which file does this project list its dependencies?", max_time=300)
print(outcome.text)
print(f"{outcome.steps} steps, {'cost unknown' if outcome.cost is None else f'${outcome.cost:.4f}'}")
