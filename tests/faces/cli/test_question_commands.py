"""Questions seen and answered from any shell, and words to everybody."""

import json
import time
from pathlib import Path

import pytest

from deskmate.core.team.messages import (
    Broadcast,
    InputResponse,
    PermissionRequest,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
)
from deskmate.core.user_questions import input_request
from tests.faces.chat_program import SECONDS, ChatProgram
from tests.faces.disk_teams import OpenTeam, at, in_team, obeyed, played
from tests.faces.fake_app import Ended, Env

LATER = "\nThe team is not running. To continue it, run: deskmate resume main\n"
RUN = PermissionRequest(
    request_id="alice:9.0",
    tool="bash",
    arguments={"command": "make test\x1b[2J"},
    reason="commands ask",
    rule="allow bash(make test)",
)
PLAN = PlanRequest(request_id="bob:4.0", content="First this,\nthen that.")


async def ask(hands: OpenTeam) -> None:
    await hands.mailbox("alice").send("user", RUN)
    await hands.mailbox("bob").send("lead", PLAN)


@pytest.fixture
def asked(place: Path) -> Path:
    """A team of which one member asks for permission and another submits a plan."""
    in_team(place, ask)
    return place


async def ask_to_choose(hands: OpenTeam) -> None:
    option = {"label": "SQLite", "description": "one file"}
    asked = {"questions": [{"question": "Which\x1b[2J database?", "options": [option, {"label": "Postgres"}]}]}
    await hands.mailbox("lead").send("user", input_request("lead:3.0", asked))


def answers_to(folder: Path, name: str) -> list[object]:
    async def read(hands: OpenTeam) -> list[object]:
        kinds = (PermissionResponse, PlanResponse, InputResponse)
        return [one.message for one in await hands.mail_of(name) if isinstance(one.message, kinds)]

    return in_team(folder, read)


def test_open_questions_are_listed_whole_with_their_ids(asked: Path, env: Env) -> None:
    ended = at(asked, "answer", env=env)
    assert (ended.code, ended.stderr, obeyed(ended.stdout)) == (0, "", [])
    assert ended.stdout.splitlines() == [
        "alice:9.0: alice asks: may I use bash?",
        "    command: make test\\x1b[2J",
        "    because commands ask",
        "answer with: deskmate answer alice:9.0 yes, always (adds the rule: allow bash(make test)) or no WORDS",
        "bob:4.0: bob submits a plan",
        "    First this,",
        "    then that.",
        "answer with: deskmate answer bob:4.0 yes, always (yes, and accept edits) or no WORDS",
    ]
    shown = json.loads(at(asked, "answer", "--json", env=env).stdout)
    assert [(one["id"], one["kind"]) for one in shown["questions"]] == [
        ("alice:9.0", "permission"),
        ("bob:4.0", "plan"),
    ]


def test_the_first_answer_counts_and_the_second_is_refused(asked: Path, env: Env) -> None:
    ended = at(asked, "answer", "bob:4.0", "no", "not", "that", env=env)
    assert ended == Ended(0, f"no to bob@main: a plan: First this, then that.{LATER}", "")
    again = at(asked, "answer", "bob:4.0", "yes", env=env)
    assert again == Ended(2, "", "deskmate: Question 'bob:4.0' is not open in team 'main'\nOpen questions: alice:9.0\n")
    assert answers_to(asked, "bob") == [PlanResponse(request_id="bob:4.0", approve=False, content="not that")]


def test_without_an_id_the_only_open_question_is_meant(asked: Path, env: Env) -> None:
    ended = at(asked, "answer", "yes", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert "Open questions: alice:9.0, bob:4.0" in ended.stderr
    at(asked, "answer", "bob:4.0", "yes", env=env)
    with played(asked):
        assert at(asked, "answer", "always", env=env).stdout.endswith(" (adds the rule: allow bash(make test))\n")
    assert answers_to(asked, "alice") == [PermissionResponse(request_id="alice:9.0", approve=True)]
    assert at(asked, "answer", env=env).stdout == "team main: no question is open\n"

    async def rules(hands: OpenTeam) -> list[str]:
        return [f"{rule.effect} {rule}" for rule in (await hands.roster.refresh()).rules]

    assert in_team(asked, rules) == ["allow bash(make test)"]


@pytest.mark.behaviour("ask-user")
def test_a_question_with_options_is_listed_with_them_and_answered_by_number_or_in_own_words(
    place: Path, env: Env
) -> None:
    in_team(place, ask_to_choose)
    ended = at(place, "answer", env=env)
    assert (ended.code, obeyed(ended.stdout)) == (0, [])
    assert ended.stdout.splitlines() == [
        "lead:3.0: lead asks you a question",
        "    q1:",
        "        Which\\x1b[2J database?",
        "        1. SQLite: one file",
        "        2. Postgres",
        "        or your own words",
        "answer with: deskmate answer lead:3.0 yes NUMBER or no WORDS",
    ]
    (shown,) = json.loads(at(place, "answer", "--json", env=env).stdout)["questions"]
    assert (shown["kind"], shown["fields"][0]["choices"]) == ("input", ["SQLite", "Postgres"])
    assert "Missing: q1" in at(place, "answer", "yes", env=env).stderr
    assert at(place, "answer", "yes", "what", "we=have", env=env).code == 0
    given = InputResponse(request_id="lead:3.0", approve=True, values={"q1": "what we=have"})
    assert answers_to(place, "lead") == [given]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["alice:9.0"], "deskmate answer [ID] yes|always|no [WORDS]"),
        (["alice:9.0", "maybe"], "deskmate answer [ID] yes|always|no [WORDS]"),
        (["nope", "yes"], "Question 'nope' is not open"),
        (["yes", "--json"], "--json only lists questions"),
    ],
)
def test_what_is_no_answer_changes_nothing(asked: Path, env: Env, args: list[str], told: str) -> None:
    ended = at(asked, "answer", *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert answers_to(asked, "alice") == answers_to(asked, "bob") == []


def test_always_to_a_plan_accepts_its_edits(asked: Path, env: Env) -> None:
    ended = at(asked, "answer", "bob:4.0", "always", env=env)
    assert ended == Ended(0, f"yes, and accept edits, to bob@main: a plan: First this, then that.{LATER}", "")
    assert answers_to(asked, "bob") == [PlanResponse(request_id="bob:4.0", approve=True, accept_edits=True)]


def test_always_is_refused_if_the_question_names_no_rule(place: Path, env: Env) -> None:
    async def ask_without_a_rule(hands: OpenTeam) -> None:
        await hands.mailbox("alice").send("user", RUN.model_copy(update={"rule": None}))

    in_team(place, ask_without_a_rule)
    ended = at(place, "answer", "alice:9.0", "always", env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert "Answer yes or no." in ended.stderr
    assert answers_to(place, "alice") == []


def test_a_question_of_a_team_that_is_played_is_answered_from_another_shell(
    shared: ChatProgram, tmp_path: Path
) -> None:
    place = shared.own(tmp_path)
    with place.begun("--plain") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("ls\n")
        process.stdin.flush()
        deadline = time.monotonic() + SECONDS
        while "may I use bash" not in place.typed("answer").stdout:
            assert time.monotonic() < deadline
        assert place.typed("answer yes").stdout == "yes to lead@main: bash ls\n"
        stdout, _ = process.communicate(timeout=SECONDS)
    assert stdout == "I ls.\nDone.\n"


def test_words_to_all_reach_everybody_who_is_here(place: Path, env: Env) -> None:
    ended = at(place, "send", "all", "the schema is final", env=env)
    assert ended == Ended(0, f"sent to lead, alice, bob@main{LATER}", "")

    async def last(hands: OpenTeam) -> list[object]:
        return [(await hands.mail_of(name))[-1].message for name in ("lead", "alice", "bob")]

    assert in_team(place, last) == [Broadcast(content="the schema is final")] * 3


def test_in_a_conversation_all_are_spoken_to_by_their_name(shared: ChatProgram, tmp_path: Path) -> None:
    place = shared.own(tmp_path)
    end = place.piped("hire\n@all hello\n")
    assert end.code == 0
    assert "said to lead, alice" in end.stderr
    assert "to all" in place.typed("inbox alice").stdout


def test_inbox_and_tail_are_about_the_last_team_and_its_lead_unless_said_otherwise(place: Path, env: Env) -> None:
    assert at(place, "tail", env=env) == at(place, "tail", "lead", env=env)
    both = at(place, "inbox", "lead", env=env).stdout + at(place, "inbox", "user", env=env).stdout
    assert at(place, "inbox", env=env).stdout == both
    shown = json.loads(at(place, "inbox", "--json", env=env).stdout)
    assert [one["member"] for one in shown["inboxes"]] == ["lead", "user"]
