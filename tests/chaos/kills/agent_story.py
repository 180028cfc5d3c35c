"""What the model of a killed agent says: a story that depends on the conversation alone.

It is told as a careful colleague would act: whatever was cut off is looked at, and done again only where it is missing.
So the files come out the same, however often the agent was killed. Every command first signs LEDGER for its call.
"""

import re
from collections.abc import Generator, Sequence
from itertools import pairwise
from pathlib import Path

from deskmate.core.prompt.prompts import CallBlock, Prompt, ResultBlock, Spoke, Told
from deskmate.testing import Asked, Say, Use

GOAL = "Mend add(), release it, and tell me what you did."
GO_ON = "Please go on."
LAST_WORDS = "add() adds now; it is released, built and counted."
INTERRUPTED = "Interrupted. Its outcome is unknown."
SKIPPED = "Skipped: "
LEDGER = "ran.log"
# While a file of this name stands there, or one with the sign of a call behind it, commands wait.
HOLD = "hold"

COUNTING = "Append the word counted to count.log, once."
FINDING = "Find out where add() is used."

Results = Sequence[ResultBlock]
Story = Generator[Say, Results, None]
Doing = Generator[Say, Results, ResultBlock]


def fill(workspace: Path) -> None:
    """Put there what the story begins with."""
    workspace.mkdir()
    (workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (workspace / "README.md").write_text("Use add() to add.\n")


def play(asked: Asked) -> Say:
    """Return what is said next: the story told once more, with the results that the conversation holds."""
    if "Task" in asked.tools:
        story = _lead()
    elif "bash" in asked.tools:
        story = _counting()
    else:
        story = _finding()
    say = next(story)
    for results in _steps(asked.prompt):
        say = story.send(results)
    return say


def _steps(prompt: Prompt) -> list[Results]:
    """Return the results of each step so far, in the order of its calls."""
    found: list[Results] = []
    for spoke, told in pairwise(prompt.passages):
        if isinstance(spoke, Spoke) and isinstance(told, Told):
            results = {block.id: block for block in told.blocks if isinstance(block, ResultBlock)}
            found.append([results[block.id] for block in spoke.blocks if isinstance(block, CallBlock)])
    return found


# -- the parts ----------------------------------------------------------------------------------------


def _lead() -> Story:
    yield from _ask(Use("read_file", {"path": "calc.py"}), Use("glob", {"pattern": "*"}), Use("grep", {"pattern": "a"}))
    fix = Use("edit_file", {"path": "calc.py", "old_text": "a - b", "new_text": "a + b"})
    yield from _carefully(fix, "calc.py", "a + b")
    plan = Use("write_file", {"path": "notes/plan.md", "content": "1. mend\n2. release\n"})
    yield from _carefully(plan, "notes/plan.md", "2. release")
    yield from _carefully(_command("release.log", "released"), "release.log", "released")
    errands = [
        Use("Task", {"prompt": FINDING, "subagent_type": "Explore"}),
        Use("Task", {"prompt": COUNTING, "subagent_type": "general-purpose"}),
    ]
    yield from _ask(*errands)
    yield from _in_background()
    yield from _twice()
    while True:
        yield Say(LAST_WORDS)


def _in_background() -> Story:
    """Build in the background; where that was cut off, look and build again."""
    while True:
        started = yield from _carefully(_command("build.log", "built", run_in_background=True), "build.log", "built")
        if found := re.search(r"\bb[0-9a-f]{6}\b", started.text):
            yield from _ask(Use("TaskOutput", {"task_id": found[0], "block": True, "timeout": 60}))
        (seen,) = yield from _ask(Use("read_file", {"path": "build.log"}))
        if "built" in seen.text:
            return


def _twice() -> Story:
    """Have two commands in one step: the second begins only after the first."""
    uses = {word: _command(f"{word}.log", word) for word in ("one", "two")}
    results = yield from _ask(*uses.values())
    for (word, use), result in zip(uses.items(), results, strict=True):
        if result.text.startswith(INTERRUPTED):
            yield from _look_and_redo(use, f"{word}.log", word, result)


def _counting() -> Story:
    yield from _carefully(_command("count.log", "counted"), "count.log", "counted")
    while True:
        yield Say("Counted.")


def _finding() -> Story:
    yield from _ask(Use("grep", {"pattern": "add"}), Use("read_file", {"path": "README.md"}))
    yield from _ask(Use("read_file", {"path": "calc.py"}))
    while True:
        yield Say("It is used in the README.")


# -- being careful ------------------------------------------------------------------------------------


def _command(file: str, word: str, **more: bool) -> Use:
    """Return a command that is not over at once, and must not be done twice."""
    words = (
        f'echo "$DESKMATE_CALL" >> {LEDGER}; sleep 0.02',
        f'while [ -e {HOLD} ] || [ -e "{HOLD}-$DESKMATE_CALL" ]; do sleep 0.01; done',
        f"echo {word} >> {file}; sleep 0.01; echo done",
    )
    return Use("bash", {"command": "\n".join(words), **more})


def _carefully(use: Use, path: str, mark: str) -> Doing:
    """Do something that leaves a mark in a file, exactly once."""
    (result,) = yield from _ask(use)
    return (yield from _look_and_redo(use, path, mark, result))


def _look_and_redo(use: Use, path: str, mark: str, result: ResultBlock) -> Doing:
    while result.text.startswith(INTERRUPTED):
        (seen,) = yield from _ask(Use("read_file", {"path": path}))
        if seen.ok and mark in seen.text:
            break
        (result,) = yield from _ask(use)
    return result


def _ask(*uses: Use) -> Generator[Say, Results, Results]:
    """Have calls run; those that were skipped for the user's words are asked for again."""
    results = list((yield Say("Let me see.", uses)))
    while skipped := [place for place, result in enumerate(results) if result.text.startswith(SKIPPED)]:
        again = yield Say("Going on.", [uses[place] for place in skipped])
        for place, result in zip(skipped, again, strict=True):
            results[place] = result
    return results
