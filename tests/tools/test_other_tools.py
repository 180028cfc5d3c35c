"""glob, grep, Skill, Task, TaskOutput, TaskStop: what is asked, and what the model reads."""

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, judge
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.skills import Skill
from deskmate.errors import ToolError
from deskmate.ports import Ran
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("tools-base")
async def test_glob_returns_the_paths_in_their_order(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    workspace.found = ["b.py", "a.py"]
    assert await desk.use("glob", pattern="*.py") == Result("b.py\na.py")
    assert workspace.asked == [("*.py",)]


@pytest.mark.behaviour("tools-base")
async def test_nothing_found_says_so(desk: ToolDesk) -> None:
    assert await desk.use("glob", pattern="*.rs") == Result("No file matches *.rs")
    assert await desk.use("grep", pattern="x+y") == Result("No line matches x+y")


async def test_many_paths_are_bounded_and_the_rest_is_counted(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    workspace.found = [f"{n}.py" for n in range(1000)]
    *paths, last = (await desk.use("glob", pattern="*")).text.split("\n")
    assert (paths, last) == (workspace.found[:200], "… 800 lines more. Narrow the pattern.")


@pytest.mark.behaviour("tools-base")
async def test_grep_asks_where_it_is_told_and_everywhere_otherwise(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    workspace.ran = Ran(0, "a.py:1:def f\n")
    assert await desk.use("grep", pattern="def") == Result("a.py:1:def f")
    await desk.use("grep", pattern="def", path="src", glob="*.py")
    assert workspace.asked == [("def", ".", ""), ("def", "src", "*.py")]


async def test_grep_bounds_lines_and_their_length(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    workspace.ran = Ran(0, "".join(f"a.js:{n}:{'x' * 1000}\n" for n in range(300)))
    text = (await desk.use("grep", pattern="x")).text
    assert len(text) < 30_100
    assert text.split("\n")[0] == f"a.js:0:{'x' * 493}… (+507 characters)"
    assert text.split("\n")[-1] == "… 243 lines more. Narrow the pattern, the path or the glob."


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("a.py:1:x\n", Result("a.py:1:x\nended after 30 s")),
        ("", Result("Found nothing so far.\nended after 30 s", ok=False)),
    ],
)
async def test_a_search_that_was_ended_says_why_and_shows_what_it_found(
    desk: ToolDesk, workspace: MemoryWorkspace, output: str, result: Result
) -> None:
    workspace.ran = Ran(None, output, ended="ended after 30 s")
    assert await desk.use("grep", pattern="x") == result


async def test_what_is_found_by_a_pattern_or_in_a_folder_cannot_be_told(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    workspace.files["keys/a"] = b"secret"
    assert await desk.attempt("glob", pattern="keys/a") == Attempt("glob", None, inside=True)
    assert await desk.attempt("grep", pattern="s") == Attempt("grep", None, inside=True)
    assert await desk.attempt("grep", pattern="s", path="keys") == Attempt("grep", None, inside=True)
    assert await desk.attempt("grep", pattern="s", path="./keys/a") == Attempt("grep", ("keys/a",), inside=True)
    assert await desk.attempt("grep", pattern="s", path="../a") == Attempt("grep", None, inside=False)


LOOKS = [("glob", {"pattern": "**"}), ("grep", {"pattern": "s"}), ("grep", {"pattern": "s", "path": "keys/a"})]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("name", "arguments"), LOOKS)
async def test_looking_is_allowed_in_every_mode(
    desk: ToolDesk, workspace: MemoryWorkspace, mode: Mode, name: str, arguments: dict[str, str]
) -> None:
    workspace.files["keys/a"] = b"secret"
    assert await effect(desk, mode, (), name, arguments) is Effect.ALLOW


@pytest.mark.parametrize(
    ("rule", "effects"),
    [
        ("*(keys/**)", [Effect.ASK, Effect.ASK, Effect.DENY]),
        ("*(src/**)", [Effect.ASK, Effect.ASK, Effect.ALLOW]),
        ("g*", [Effect.DENY, Effect.DENY, Effect.DENY]),
    ],
)
async def test_a_rule_that_denies_files_holds_for_looking_at_them(
    desk: ToolDesk, workspace: MemoryWorkspace, rule: str, effects: list[Effect]
) -> None:
    workspace.files["keys/a"] = b"secret"
    rules = (PermissionRule.parse(Effect.DENY, rule),)
    assert [await effect(desk, Mode.DEFAULT, rules, name, arguments) for name, arguments in LOOKS] == effects


async def effect(
    desk: ToolDesk, mode: Mode, rules: tuple[PermissionRule, ...], name: str, arguments: dict[str, str]
) -> Effect:
    attempt = await desk.attempt(name, **arguments)
    return judge(attempt, mode=mode, rules=rules, traits=TOOLS, confined=False, attended=True).effect


SKILLS = {
    "release": Skill("release", "cut a release", "1. Run the tests.\n2. Tag.", "skills/release"),
    "review": Skill("review", "review a change", "x" * 30_001, "skills/review"),
}


@pytest.mark.behaviour("skills")
async def test_a_skill_is_read_with_its_folder(workspace: MemoryWorkspace) -> None:
    desk = ToolDesk(workspace, skills=SKILLS)
    assert await desk.use("Skill", skill="release") == Result(
        "Skill release. Its files are in skills/release.\n\n1. Run the tests.\n2. Tag."
    )


@pytest.mark.behaviour("skills")
async def test_a_long_skill_is_cut_and_says_where_the_rest_is(workspace: MemoryWorkspace) -> None:
    text = (await ToolDesk(workspace, skills=SKILLS).use("Skill", skill="review")).text
    assert text.endswith("x\n… 1 character more in skills/review/SKILL.md")
    assert text.count("x") == 30_000


@pytest.mark.behaviour("skills")
async def test_an_unknown_skill_is_answered_with_those_there_are(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    with pytest.raises(ToolError, match=r"no skill relaese. Choose one of release, review.$"):
        await ToolDesk(workspace, skills=SKILLS).use("Skill", skill="relaese")
    with pytest.raises(ToolError, match="no skill x: no skills are installed"):
        await desk.use("Skill", skill="x")
    many = {f"s{n:02}": SKILLS["release"] for n in range(60)}
    with pytest.raises(ToolError, match=r"one of s00, .*, s49 and 10 more\.$"):
        await ToolDesk(workspace, skills=many).use("Skill", skill="x")


@pytest.mark.behaviour("subagent")
async def test_an_errand_returns_the_last_words_of_the_subagent(desk: ToolDesk) -> None:
    assert await desk.use("Task", prompt="count") == Result("general-purpose did: count")
    assert await desk.use("Task", prompt="look", subagent_type="Explore") == Result("Explore did: look")


@pytest.mark.behaviour("background", "subagent")
async def test_an_errand_in_the_background_returns_its_id_and_goes_on(desk: ToolDesk) -> None:
    sent = await desk.use("Task", prompt="plan it", subagent_type="Plan", run_in_background=True)
    assert sent == Result(
        "Started in the background as a000000. You are notified when it ends. TaskStop stops it.", background="a000000"
    )
    assert await desk.use("TaskOutput", task_id="a000000") == Result("Plan did: plan it")


@pytest.mark.behaviour("background")
async def test_looking_waits_for_the_end_only_if_told_to_and_then_half_a_minute(desk: ToolDesk) -> None:
    await desk.use("Task", prompt="count", run_in_background=True)
    await desk.use("TaskOutput", task_id="a000000")
    await desk.use("TaskOutput", task_id="a000000", block=True)
    await desk.use("TaskOutput", task_id="a000000", block=True, timeout=5)
    assert desk.background.waits == [(False, 30), (True, 30), (True, 5)]


@pytest.mark.behaviour("background")
async def test_what_was_stopped_is_gone(desk: ToolDesk) -> None:
    await desk.use("Task", prompt="count", run_in_background=True)
    assert await desk.use("TaskStop", task_id="a000000") == Result("a000000 is stopped.")
    with pytest.raises(ToolError):
        await desk.use("TaskStop", task_id="a000000")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Task", {"prompt": "count"}),
        ("TaskOutput", {"task_id": "a000000"}),
        ("TaskStop", {"task_id": "a000000"}),
        ("Skill", {"skill": "release"}),
    ],
)
async def test_what_names_no_file_and_runs_no_command_has_no_subject(
    desk: ToolDesk, name: str, arguments: dict[str, str]
) -> None:
    assert await desk.attempt(name, **arguments) == Attempt(name, (), inside=True)
