"""bash: what the model reads of a command, and what is asked of the workspace."""

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.patterns import HOLE
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.tool_table import AgentKind
from deskmate.errors import ToolError
from deskmate.ports import Ran
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("ran", "result"),
    [
        (Ran(0, "one\n  two\n"), Result("one\n  two")),
        (Ran(0, ""), Result("(no output)")),
        (Ran(3, ""), Result("(no output)\nexit status 3", ok=False)),
        (Ran(1, "no such thing\n"), Result("no such thing\nexit status 1", ok=False)),
        (Ran(None, "begun", ended="ended after 2 s"), Result("begun\nended after 2 s", ok=False)),
        (Ran(2, "", ended="one is left"), Result("(no output)\nexit status 2\none is left", ok=False)),
        (Ran(0, "head", blob="b/lead-1.txt"), Result("head\nThe whole output is in b/lead-1.txt.")),
        (Ran(0, "head\n… in b/lead-1.txt\ntail", blob="b/lead-1.txt"), Result("head\n… in b/lead-1.txt\ntail")),
    ],
)
async def test_the_model_reads_the_output_and_how_it_ended(
    desk: ToolDesk, workspace: MemoryWorkspace, ran: Ran, result: Result
) -> None:
    workspace.ran = ran
    assert await desk.use("bash", command="make") == result


@pytest.mark.behaviour("tools-base")
async def test_a_command_has_two_minutes_unless_it_is_given_another_time(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    await desk.use("bash", command="make")
    await desk.use("bash", command="make test", timeout=600)
    assert workspace.asked == [("make", 120, "lead-12-0.txt"), ("make test", 600, "lead-12-0.txt")]


@pytest.mark.behaviour("background")
async def test_a_command_in_the_background_returns_its_id_and_runs_on(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    workspace.ran = Ran(0, "served")
    started = await desk.use("bash", command="serve", run_in_background=True)
    assert started == Result(
        "Started in the background as b000000. You are notified when it ends. TaskOutput shows its output.",
        background="b000000",
    )
    assert workspace.asked == []
    assert await desk.use("TaskOutput", task_id="b000000") == Result("served")
    assert workspace.asked == [("serve", 86400, "lead-12-0.txt")]


@pytest.mark.behaviour("background")
async def test_a_command_in_the_background_keeps_the_time_it_was_given(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    await desk.use("bash", command="serve", timeout=5, run_in_background=True)
    await desk.use("TaskOutput", task_id="b000000")
    assert workspace.asked == [("serve", 5, "lead-12-0.txt")]


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("kind", AgentKind)
@pytest.mark.parametrize(
    ("command", "told", "hints"),
    [
        ("ls; git diff", ("ls", "git diff"), ()),
        ("eval ls", None, ("eval ls", "ls")),
        ("X=1 git push > 'a b'", None, ("git push", "> a\\ b")),
        ("echo a > ./b/../'c d'", ("> c\\ d", "echo a"), ("> ./b/../c\\ d",)),
        ("cat < ../secret", ("< /secret", "cat"), ("< ../secret",)),
        ("cat < /desk/in", ("< in", "cat"), ("< /desk/in",)),
        # Nobody knows which folder a relative path is in by then.
        ("cd .. && echo a > b", (f"> {HOLE}", "cd ..", "echo a"), ("> b",)),
        (
            "find / -execdir sh -c 'ls > b' ';'",
            ("find / -execdir sh -c ls\\ >\\ b ;", "sh -c ls\\ >\\ b", f"> {HOLE}", "ls"),
            ("> b",),
        ),
        ("pushd x; ls > /tmp/b < c", ("pushd x", "> /tmp/b", f"< {HOLE}", "ls"), ("< c",)),
    ],
)
async def test_the_rules_see_the_commands_of_a_text_or_that_they_cannot_be_told(
    workspace: MemoryWorkspace, kind: AgentKind, command: str, told: tuple[str, ...] | None, hints: tuple[str, ...]
) -> None:
    attempt = await ToolDesk(workspace, kind).attempt("bash", command=command)
    assert attempt == Attempt("bash", told, inside=False, hints=hints)


@pytest.mark.behaviour("permission")
async def test_a_file_that_cannot_be_located_is_not_known() -> None:
    class Broken(MemoryWorkspace):
        async def locate(self, path: str) -> tuple[str, bool]:
            raise ToolError("too many links")

    attempt = await ToolDesk(Broken()).attempt("bash", command="ls > a")
    assert attempt.subjects == (f"> {HOLE}", "ls")


@pytest.mark.parametrize(("given", "seconds"), [(120_000, 120), (600_000, 600), (2_000, 2), (600, 600), (1.5, 1.5)])
async def test_a_time_above_the_cap_is_taken_as_milliseconds(
    desk: ToolDesk, workspace: MemoryWorkspace, given: float, seconds: float
) -> None:
    await desk.use("bash", command="make", timeout=given, description="Build all of it")
    assert [asked[1] for asked in workspace.asked] == [seconds]
