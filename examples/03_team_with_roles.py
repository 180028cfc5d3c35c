"""Start with a whole team: two teammates with roles, and tasks that wait for each other.

Each teammate takes the tasks of its role. The lead is notified when one is done.
"""

from deskmate import NewTask, Team, Teammate

schema = NewTask("Write schema.sql with one table, books", role="backend", verify="test -s schema.sql")
page = NewTask("Write page.html that lists the columns of schema.sql", role="frontend", blocked_by=[schema])

team = Team(
    "library",
    teammates=[Teammate("ada", role="backend"), Teammate("bob", role="frontend")],
    tasks=[schema, page],
    # Edits need no permission. Commands run in the sandbox.
    permission_mode="acceptEdits",
    max_time=600,
)
outcome = team.run_sync("Your teammates do the tasks on the board. Tell me what they built.")
print(outcome.text)
for task in outcome.tasks:
    print(f"#{task.id} {task.status} by {task.owner}: {task.subject}")
print("changed:", *outcome.files)
