"""Test your own team without a model. A script has the answers of each member, and everything else is real.

pytest examples/08_test_with_a_script.py
"""

from pathlib import Path

from deskmate import NewTask, Team, Teammate
from deskmate.testing import Say, ScriptedModel, Use


def test_the_writer_completes_the_task(tmp_path: Path) -> None:
    """`Say` is one answer of a model: text, and tool calls with `Use`."""
    write = Say(calls=[Use("write_file", {"path": "hello.txt", "content": "hello\n"})])
    complete = Say(calls=[Use("TaskUpdate", {"taskId": 1, "status": "completed"})])
    model = ScriptedModel(
        {
            "lead": ["Ann is working.", "Ann is done.", "We are done.", "Ann wrote hello.txt."],
            "ann": [write, complete, "Written."],
        }
    )
    team = Team(
        "greeting",
        model=model,
        teammates=[Teammate("ann", role="writer")],
        tasks=[NewTask("Write hello.txt", role="writer")],
        workspace=tmp_path,
        permission_mode="acceptEdits",
    )

    outcome = team.run_sync("Let ann write hello.txt.")

    assert [(task.owner, task.status) for task in outcome.tasks] == [("ann", "completed")]
    assert outcome.files == ("hello.txt",)
    assert (tmp_path / "hello.txt").read_text() == "hello\n"
