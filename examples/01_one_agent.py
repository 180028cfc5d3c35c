"""Give one agent a goal in this folder, and print its answer and what it cost.

    ANTHROPIC_API_KEY=... python examples/01_one_agent.py

The agent may read files. It may not change any: nobody is there to allow it.
"""

from deskmate import run_sync

outcome = run_sync("In which file does this project list its dependencies?", max_time=300)
print(outcome.text)
print(f"{outcome.steps} steps, {'cost unknown' if outcome.cost is None else f'${outcome.cost:.4f}'}")
