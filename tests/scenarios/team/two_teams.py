"""A script for two teams: alice at home asks the lead and writes files while the lead works with wendy in `web`.

The second file is a task that the lead creates and describes from there, on the board of its home.

Each model says what comes next by what it was told, so a run that was killed anywhere continues.
"""

from collections.abc import Callable

from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import ResultBlock, TextBlock, Told
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import member_of

FINAL = "Both teams are done."


def told(asked: Asked) -> str:
    """Return all that a model was told so far."""
    passages = [passage for passage in asked.prompt.passages if isinstance(passage, Told)]
    blocks = [block for passage in passages for block in passage.blocks]
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock | ResultBlock))


def send(to: str, content: str) -> Use:
    return Use("SendMessage", {"recipient": to, "content": content})


def leave(name: str) -> Use:
    return Use("SendMessage", {"type": "shutdown_request", "recipient": name})


def at_home(tool: str, **arguments: object) -> Use:
    """Return a call for the board of the lead's first team."""
    return Use(tool, {**arguments, "team_name": "main"})


# What the lead does next: the first step whose sign it was not told yet.
STEPS: tuple[tuple[str, Callable[[], Say]], ...] = (
    ("Created #1", lambda: Say(calls=[Use("TaskCreate", {"subject": "write home.txt"})])),
    ("agent_id alice@main", lambda: Say(calls=[Use("Task", {"name": "alice", "prompt": "Take tasks."})])),
    ("You lead team 'web' now", lambda: Say(calls=[Use("TeamCreate", {"team_name": "web"})])),
    ("agent_id wendy@web", lambda: Say(calls=[Use("Task", {"name": "wendy", "prompt": "Report."})])),
    ("In team 'main':\nCreated #2", lambda: Say(calls=[at_home("TaskCreate", subject="more", blockedBy=[1])])),
    ("In team 'main':\n#2", lambda: Say(calls=[at_home("TaskUpdate", taskId=2, subject="write more.txt")])),
    ("which colour?", lambda: Say("I wait.")),
    ("sent to alice@main", lambda: Say(calls=[send("alice@main", "blue")])),
    ("more.txt is there", lambda: Say("I wait for alice.")),
    ("[completed] write more.txt", lambda: Say(calls=[at_home("TaskList")])),
    ("wendy here", lambda: Say("I wait for wendy.")),
    ("Asked alice@main to leave", lambda: Say(calls=[leave("alice@main"), leave("wendy")])),
    ("You are back in team 'main'", lambda: Say(calls=[Use("TeamDelete", {"team_name": "web"})])),
)


def lead(asked: Asked) -> Say:
    words = told(asked)
    if "Asked alice@main to leave" in words and "is still here" in words and "wendy left" not in words:
        return Say("They are leaving.")
    return next((step() for sign, step in STEPS if sign not in words), Say(FINAL))


def alice(asked: Asked) -> Say:
    """Ask the lead for a colour, write it down, report."""
    words = told(asked)
    if "is yours now" not in words:
        return Say("Ready.")
    if "sent to lead" not in words:
        return Say(calls=[send(LEAD, "which colour?")])
    if "blue" not in words:
        return Say("I wait for the colour.")
    made = str(asked.prompt.passages)
    for task, file in ((1, "home.txt"), (2, "more.txt")):
        if f"Task #{task} is yours now" not in words:
            break
        # After a kill it is told to check whether the file was written. Writing it again does that.
        if made.count(f"'path': '{file}'") < (2 if "Interrupted" in words else 1):
            return Say(calls=[Use("write_file", {"path": file, "content": "blue"})])
        if f"{file} is there" not in made:
            return Say(
                calls=[Use("TaskUpdate", {"taskId": task, "status": "completed"}), send(LEAD, f"{file} is there")]
            )
    return Say("I rest.")


def wendy(asked: Asked) -> Say:
    return Say("I rest.") if "sent to lead" in told(asked) else Say(calls=[send(LEAD, "wendy here")])


def script(asked: Asked) -> Say:
    return {LEAD: lead, "alice": alice, "wendy": wendy}[member_of(asked)](asked)
