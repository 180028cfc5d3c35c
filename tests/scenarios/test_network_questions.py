"""A command that needs the network asks the user while it runs, at every face, and a kill leaves nothing behind."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from deskmate.app import Feed, run
from deskmate.app.question_answers import answer as answer_from_a_shell
from deskmate.app.question_answers import look_at_questions
from deskmate.app.session import Session, attended
from deskmate.core.agent.entries import Did
from deskmate.core.log.names import ROSTER
from deskmate.core.policy.host_access import host_rule
from deskmate.core.policy.permissions import Effect, Verdict
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.core.team.open_questions import Question
from deskmate.errors import Refused
from deskmate.faces.cli.output.action_output import question_fields
from deskmate.faces.common.chat.question_text import answered_line, shell_lines
from deskmate.faces.common.items.question_items import question_groups, question_item
from deskmate.faces.tui.questions.answer_options import options_of
from deskmate.faces.web.shown_json import question_json
from deskmate.runtime.perform.calls.host_questions import HostAnswers, HostQuestions
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.faces.chat.chat_harness import chat
from tests.scenarios.app_harness import SOON, AppHarness
from tests.workspace.conftest import bubblewrap

__all__ = ["bubblewrap"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("network-asks")]

# It never ends in the name of a host that exists.
HOST = "pypi.invalid"
FETCH = (
    "import sys, urllib.request as u\n"
    "for url in sys.argv[1:]:\n"
    "    try: print(u.urlopen(url).status)\n"
    "    except Exception as e: print(e)"
)

# What curl prints if it cannot find a host.
CURL = Use("bash", {"command": f"echo 'curl: (6) Could not resolve host: {HOST}' | tail -1"})


@pytest.fixture(autouse=True)
def _sandboxed(bubblewrap: Sandbox) -> None:
    """Skip these tests where no sandbox holds."""


def fetches(*urls: str, background: bool = False) -> Callable[[Asked], Say]:
    """Run a command that asks for these pages, and repeat what it printed."""
    command, begun = f'python3 -c "{FETCH}" {" ".join(urls)}', list[Asked]()

    def script(asked: Asked) -> Say:
        begun.append(asked)
        if asked.results or len(begun) > 1:
            return Say(asked.results[-1].text if asked.results else "Done.")
        more = {"run_in_background": True} if background else {}
        return Say("I install it.", [Use("bash", {"command": command, **more})])

    return script


@asynccontextmanager
async def team(
    harness: AppHarness, script: Callable[[Asked], Say], *, continues: bool = False, **flags: object
) -> AsyncIterator[tuple[Session, FakeProvider]]:
    with anyio.fail_after(SOON):
        async with FakeProvider(script) as provider:
            chosen = {"permission_mode": "default", "sandbox": True, **flags}
            wanted = harness.wanted(provider, "anthropic", None if continues else "Go.", **chosen)
            async with attended(replace(wanted, continues=continues), Feed()) as session:
                yield session, provider


async def until(session: Session, fact: Callable[[Session], object]) -> None:
    while not fact(session):
        await session.looked()


def result_of(provider: FakeProvider) -> str:
    return provider.requests[-1].results[-1].text


async def test_a_person_sees_host_and_command_and_a_no_holds_for_the_run(harness: AppHarness) -> None:
    urls = [f"http://{HOST}/a", f"http://{HOST}/b"]
    async with team(harness, fetches(*urls)) as (session, provider):
        await until(session, lambda seen: seen.questions)
        (question,) = session.questions
        shown = "\n".join("".join(cell.text for cell in line) for line in shell_lines(question, {}))
        assert f"lead asks: may a command reach {HOST}?" in shown
        assert f"    host: {HOST}" in shown
        assert "import sys, urllib.request" in shown
        assert f"always (adds the rule: allow network({HOST})) or no WORDS" in shown
        await session.answer(question, "no", "use the local index")
        await until(session, lambda seen: not seen.busy)
        assert session.questions == ()
    # The second connection is refused at once, without another question.
    told = f"commands may not reach {HOST}: the user refused it: use the local index"
    assert result_of(provider) == f"HTTP Error 403: {told}\nHTTP Error 403: {told}\n{told}"


async def test_a_yes_opens_the_way_for_the_command_that_waits(harness: AppHarness) -> None:
    async with team(harness, fetches(f"http://{HOST}/")) as (session, provider):
        await until(session, lambda seen: seen.questions)
        await session.answer(session.questions[0], "yes")
        await until(session, lambda seen: not seen.busy)
    # The proxy looks for the host, which does not exist.
    assert result_of(provider) == f"HTTP Error 502: {HOST}:80 cannot be found"


async def test_always_adds_a_rule_so_that_the_next_run_does_not_ask(harness: AppHarness) -> None:
    async with team(harness, fetches(f"http://{HOST}/")) as (session, _):
        await until(session, lambda seen: seen.questions)
        (question,) = session.questions
        assert answered_line(question, "always").endswith(f"(adds the rule: allow network({HOST}))")
        await session.answer(question, "always")
        await until(session, lambda seen: not seen.busy)
    rules = [body.get("add_rules") for body in await harness.records(ROSTER)]
    assert [f"allow network({HOST})"] in rules
    async with FakeProvider(fetches(f"http://{HOST}/again")) as provider:
        flags = {"permission_mode": "default", "sandbox": True, "permission": {"allow": ["bash"]}}
        await harness.resume(provider, "anthropic", "Again.", **flags)
        assert f"{HOST}:80 cannot be found" in provider.requests[-1].results[-1].text


async def test_any_shell_can_answer(harness: AppHarness) -> None:
    async with team(harness, fetches(f"http://{HOST}/")) as (session, provider):
        await until(session, lambda seen: seen.questions)
        (question,) = (await look_at_questions(harness.place, None)).questions
        await answer_from_a_shell(harness.place, None, question.id, "yes", "")
        await until(session, lambda seen: not seen.busy)
    assert "cannot be found" in result_of(provider)


async def test_a_conversation_shows_the_question_and_takes_the_answer(harness: AppHarness) -> None:
    async with chat(harness, fetches(f"http://{HOST}/"), sandbox=True) as typist:
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        shown = "\n".join(
            cell.text for line in typist.talk.answers.question(typist.session.questions[0]) for cell in line
        )
        assert f"a 1 (adds the rule: allow network({HOST}))" in shown
        (done,) = await typist.types("n 1 not now")
        assert done.startswith(f"no to lead: {HOST}: python3")
        await typist.until(lambda session: not session.questions)


async def test_a_background_command_asks_too_and_its_question_ends_with_it(harness: AppHarness) -> None:
    async with team(harness, fetches(f"http://{HOST}/", background=True)) as (session, _):
        await until(session, lambda seen: seen.questions)
        (question,) = session.questions
        assert question.input
        assert re.fullmatch(r"b[0-9a-f]{6}", question.input.call)
        await session.answer(question, "no")
        await until(session, lambda seen: not seen.questions and not seen.busy)


async def test_a_run_that_nobody_attends_names_the_host_and_the_option(harness: AppHarness) -> None:
    async with FakeProvider(fetches(f"http://{HOST}/")) as provider:
        flags = {"sandbox": True, "network": ["other.invalid"], "permission_mode": "dontAsk"}
        await run(harness.wanted(provider, "anthropic", "Go.", **flags), Feed())
        told = f"commands may not reach {HOST}: the user can allow it with --network HOST or the setting 'network'"
        assert result_of(provider) == f"HTTP Error 403: {told}\n{told}"


async def test_with_no_network_at_all_the_option_is_named_too(harness: AppHarness) -> None:
    async with FakeProvider(lambda asked: Say("done") if asked.results else Say("", [CURL])) as provider:
        await run(harness.wanted(provider, "anthropic", "Go.", sandbox=True), Feed())
        assert f"the user can allow it with --network {HOST} or the setting 'network'" in result_of(provider)


async def test_an_interrupted_question_is_over_after_a_restart(harness: AppHarness) -> None:
    async with team(harness, fetches(f"http://{HOST}/")) as (session, _):
        await until(session, lambda seen: seen.questions)
        old = session.questions[0]
    async with team(harness, fetches(f"http://{HOST}/"), continues=True) as (session, provider):
        await until(session, lambda seen: not seen.questions)
        await until(session, lambda seen: not seen.busy)
        with pytest.raises(Refused):
            await answer_from_a_shell(harness.place, None, old.id, "yes", "")
    assert "Its outcome is unknown" in result_of(provider)
    ends = [entry for entry in await harness.entries() if isinstance(entry, Did)]
    assert len(ends) == 1


# -- at other faces -------------------------------------------------------------------------------

ASKS = InputRequest(
    request_id="lead:1.0.host-1", call="lead:1.0", server="", content="pip install x", host=HOST, rule=host_rule(HOST)
)
QUESTION = Question("lead:1.0.host-1", "lead", 0.0, Shake.INPUT, rule=ASKS.rule, input=ASKS)


def test_the_screen_offers_the_answers_of_a_permission() -> None:
    options = options_of((QUESTION,))
    assert [(one.number, one.answer, one.with_words) for one in options] == [
        (1, "yes", False),
        (2, "always", False),
        (3, "no", False),
        (4, "no", True),
    ]
    assert "".join(text for text, _ in options[1].text) == f"Yes, and don't ask again for network({HOST})"


def test_the_page_shows_it_and_takes_a_reason() -> None:
    shown = question_json(question_item(QUESTION))
    assert (shown["of_server"], shown["arguments"]) == (False, [("host", HOST), ("command", "pip install x")])
    assert [one["answer"] for one in shown["choices"]] == ["yes", "always", "no"]


def test_a_program_reads_host_command_and_rule() -> None:
    fields = question_fields(QUESTION)
    assert fields["arguments"] == {"host": HOST, "command": "pip install x"}
    assert (fields["kind"], fields["rule"]) == ("input", f"allow network({HOST})")


def test_members_that_want_the_same_host_for_the_same_command_are_asked_about_at_once() -> None:
    other = replace(QUESTION, id="bob:2.0.host-1", member="bob")
    elsewhere = replace(other, id="bob:3.0.host-1", input=ASKS.model_copy(update={"host": "other.invalid"}))
    assert question_groups([QUESTION, other, elsewhere]) == [(QUESTION, other), (elsewhere,)]


async def test_several_that_wait_for_a_host_share_one_question_and_the_next_asks_if_it_is_cut_off() -> None:
    answers, asked, go = HostAnswers(), list[str](), anyio.Event()

    async def ask(who: str) -> str:
        asked.append(who)
        await go.wait()
        return f"no, said to {who}"

    found = list[str]()

    async def wants(who: str) -> None:
        found.append(await answers.answer(HOST, lambda: ask(who)))

    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as first:
            first.start_soon(wants, "alice")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(wants, "bob")
            tasks.start_soon(wants, "carol")
            await anyio.wait_all_tasks_blocked()
            assert asked == ["alice"]
            first.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert asked == ["alice", "bob"]
    assert found == ["no, said to bob"] * 2


async def test_a_command_that_wants_many_hosts_asks_about_few() -> None:
    asked = list[InputRequest]()

    async def no(request: InputRequest) -> InputResponse:
        asked.append(request)
        return InputResponse(request_id=request.request_id, approve=False, content="no\r\nX-Forged: 1")

    verdict = Verdict(Effect.ASK, "")
    questions = HostQuestions(HostAnswers(), lambda host: verdict, no, "npm install", "lead:1.0", "lead:1.0")
    refusals = [await questions(f"h{number}.example") for number in range(20)]
    assert [one.host for one in asked] == [f"h{number}.example" for number in range(10)]
    assert refusals[0] == "the user refused it: no X-Forged: 1"
    assert refusals[-1] == "the user was asked about 10 hosts for this command already"
