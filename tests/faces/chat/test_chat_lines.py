"""What is typed, and what comes of it: in the team, and on the screen."""

import re

import pytest

from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.status import Idle, Left, Parked
from deskmate.faces.common.chat.chat_commands import COMMANDS
from deskmate.faces.common.chat.chat_lines import Feedback
from deskmate.faces.common.text_tables import Cell
from deskmate.queries.team_view import Permitted
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.chat.chat_harness import ChatHarness, chat, play, texts
from tests.faces.disk_teams import obeyed
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("repl")]
ASKED = [
    "question 1: lead asks: may I use bash?",
    "    command: ls",
    "    because bash runs a command outside a sandbox",
    "answer with y 1, a 1 (adds the rule: allow bash(ls)) or n 1 WORDS",
]


async def hired(typist: ChatHarness) -> None:
    """Have alice on the team, and everybody at rest."""
    await typist.types("hire")
    await typist.until(lambda session: [one.status for one in session.members] == [Idle(), Idle()])


async def asked(typist: ChatHarness, count: int = 1) -> None:
    """Have the lead ask for something."""
    await typist.types("ls")
    await typist.until(lambda session: len(session.questions) == count)


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("  fix it ", "fix it"),
        ("//team is what I typed", "/team is what I typed"),
        ("/usr/bin is full", "/usr/bin is full"),
        ("/srv/shop/docs/shot.png", "/srv/shop/docs/shot.png"),
        ("/usr is full", "/usr is full"),
        ("@@property is odd", "@property is odd"),
        ("one\n/two\n@three", "one\n/two\n@three"),
        ("@lead hello", "hello"),
    ],
)
async def test_words_go_to_the_lead_as_they_were_typed(harness: AppHarness, line: str, said: str) -> None:
    async with chat(harness) as typist:
        assert await typist.talk.carry_out(line) == Feedback()
        assert await typist.mail(LEAD) == [("user", "message", said)]


async def test_a_mentioned_folder_is_not_taken_for_a_teammate(harness: AppHarness) -> None:
    (harness.place / "src").mkdir()
    async with chat(harness) as typist:
        assert await typist.talk.carry_out("@src what is this?") == Feedback()
        assert await typist.mail(LEAD) == [("user", "message", "src what is this?")]


async def test_words_with_a_name_go_to_that_teammate_alone(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        feedback = await typist.talk.carry_out("@alice one\n  two")
        assert feedback == Feedback(((Cell("said to "), Cell("alice", "cyan")),))
        assert ("user", "message", "one\n  two") in await typist.mail("alice")
        assert ("user", "message", "one\n  two") not in await typist.mail(LEAD)


@pytest.mark.parametrize("line", ["", "   ", "\n"])
async def test_nothing_typed_says_nothing(harness: AppHarness, line: str) -> None:
    async with chat(harness) as typist:
        assert await typist.talk.carry_out(line) == Feedback()
        assert await typist.mail(LEAD) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/teem", "There is no command /teem. Did you mean /team?"),
        ("/TASK", "There is no command /TASK. Did you mean /tasks?"),
        ("/", "There is no command /. /help lists all commands."),
        ("@bob hi", "'bob' is not on this team. On the team: lead, user."),
        ("@user hi", "'user' is you"),
        ("@lead", "@NAME WORDS"),
        ("@", "@@"),
        ("/team now", "Usage: /team (show the members: role, status, task, cost)"),
        ("/stop", "Usage: /stop NAME (ask a teammate to leave)"),
        ("/stop a b", "Usage: /stop NAME (ask a teammate to leave)"),
        ("/stop lead", "'lead' cannot be asked to leave\nName a teammate."),
        ("/resume lead", "'lead' is idle, not parked or interrupted\nSend it a message instead."),
        ("/interrupt bob", "'bob' is not on this team. On the team: lead, user."),
        ("/inbox bob", "'bob' was never on team 'main'\nOn the team: lead, user."),
        ("/inbox a b", "Usage: /inbox [NAME] (show a member's mail, by default the lead's)"),
        ("/yes", "No question is open"),
        ("/yes please", "Usage: /yes [N,…] (allow what is asked; N: the number of the question)"),
        ("/always 1 2", "Usage: /always [N,…] (allow this and all similar calls; for a plan: also accept its edits)"),
        ("/mode fast", "There is no mode 'fast'\nModes: default, acceptEdits, plan, dontAsk, bypass, delegate"),
        (
            "/mode plan a b",
            "Usage: /mode [MODE [NAME] | drop RULE] (show what is permitted, set a mode, delegate, or remove a rule)",
        ),
        ("/mode plan bob", "'bob' is not on this team. On the team: lead, user."),
        ("/mode drop allow bash", "There is no rule 'allow bash'\nThere are no rules."),
        ("/compact", "The lead has not said anything yet, so there is nothing to summarise"),
        ("/quit now", "Usage: /quit (leave; you can continue the team later)"),
        ("x" * 300_000, None),
    ],
)
async def test_what_cannot_be_done_is_a_sentence_and_changes_nothing(
    harness: AppHarness, line: str, told: str | None
) -> None:
    async with chat(harness) as typist:
        before = typist.session.permitted
        lines = await typist.types(line)
        assert (told or "bytes") in "\n".join(lines)
        assert await typist.mail(LEAD) == []
        assert typist.session.permitted == before


async def test_help_has_a_line_for_every_command(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        lines = await typist.types("/help")
        assert [line for line in lines if line.startswith("/") and not line.startswith("//")] == [
            f"{command.usage:<31}  {command.about}" for command in COMMANDS.values()
        ]
        assert lines[:2] == [
            f"{'WORDS':<31}  send a message to the lead",
            f"{'@NAME WORDS':<31}  send a message to a teammate",
        ]


async def test_every_command_of_the_help_is_one(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        for name in COMMANDS.keys() - {"quit", "export"}:
            assert not any("no command" in line for line in await typist.types(f"/{name}"))


async def test_quit_leaves(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        assert await typist.talk.carry_out(" /quit ") == Feedback(leaves=True)


# -- what is shown --------------------------------------------------------------------------------


async def test_the_team_is_shown_with_roles_colours_statuses_tasks_and_costs(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        feedback = await typist.talk.carry_out("/team")
        assert [line[0] for line in feedback.lines] == [Cell("lead@main"), Cell("alice@main", "cyan")]
        assert re.fullmatch(r"lead@main +idle +\d+ s +\$0\.\d{4}", texts(feedback)[0])
        assert re.fullmatch(r"alice@main +help +idle +\d+ s +\$0\.\d{4}", texts(feedback)[1])


async def test_an_inbox_is_the_leads_unless_a_name_is_typed_and_looking_consumes_nothing(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        first = await typist.types("/inbox")
        assert (first[0], first[2]) == ("lead@main: 0 unread", "    hire")
        assert re.fullmatch(r"  \[user@main\], \d+ s ago", first[1])
        assert [line for line in await typist.types("/inbox") if "ago" not in line] == [first[0], first[2]]
        assert await typist.types("/inbox alice") == ["alice@main: 0 unread"]


async def test_tasks_and_cost_are_shown_as_their_commands_show_them(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        assert await typist.types("/tasks") == ["team main: no tasks"]
        assert await typist.types("/conflicts") == ["team main: no conflicts"]
        lines = await typist.types("/cost")
        assert [line.split()[0] for line in lines] == ["team", "member", "alice", "lead", "all"]


async def test_lines_of_tables_are_as_wide_as_the_face_says(harness: AppHarness) -> None:
    async with chat(harness, cells=30) as typist:
        assert max(map(len, await typist.types("/help"))) <= 40
        assert max(map(len, await typist.types("/team"))) <= 30


# -- questions ------------------------------------------------------------------------------------


async def test_a_question_is_shown_whole_and_yes_lets_the_call_run(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        assert await typist.types("/questions") == ASKED
        assert await typist.types("/yes") == ["yes to lead: bash ls"]
        await typist.until(lambda session: session.members[0].words == "Done.")
        assert await typist.types("/questions") == ["No question is open"]
        assert typist.session.permitted == Permitted(Mode.DEFAULT, {}, (), (), "none")


@pytest.mark.parametrize("line", ["/yes", "/always", "/no", "/no not now"])
async def test_a_question_that_was_not_shown_is_answered_by_its_number_alone(harness: AppHarness, line: str) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        assert (await typist.types(line))[-1] == "Add its number. Open: 1"
        (question,) = typist.session.questions
        typist.talk.answers.shown(question)
        await typist.types(line)
        assert question not in typist.session.questions


@pytest.mark.parametrize(
    ("line", "told", "mail"),
    [
        ("y", "yes to lead: bash ls", ""),
        ("Yes.", "yes to lead: bash ls", ""),
        ("@lead yes", "yes to lead: bash ls", ""),
        ("y 1", "yes to lead: bash ls", ""),
        ("a", "always to lead: bash ls (adds the rule: allow bash(ls))", ""),
        ("always", "always to lead: bash ls (adds the rule: allow bash(ls))", ""),
        ("n", "no to lead: bash ls", ""),
        ("no because it is slow", "no to lead: bash ls", "because it is slow"),
        ("No, use glob", "no to lead: bash ls", "use glob"),
        ("no 1 use glob", "no to lead: bash ls", "use glob"),
    ],
)
async def test_the_short_words_are_the_answer_to_what_was_asked(
    harness: AppHarness, line: str, told: str, mail: str
) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        await typist.types("/questions")
        assert await typist.types(line) == [told]
        assert (await typist.mail(LEAD))[1:] == [("user", "permission_response", mail)]
        await typist.until(lambda session: session.members[0].words == "Done.")


@pytest.mark.parametrize("line", ["Yes, but mind the cache.", "Use tabs.", "y tho", "Any news?"])
async def test_other_words_to_who_asks_are_said_and_leave_the_question_open(harness: AppHarness, line: str) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        await typist.types("/questions")
        assert await typist.types(line) == ["question 1 is still open: y, a or n"]
        assert (await typist.mail(LEAD))[1:] == [("user", "message", line)]
        assert await typist.types("y") == ["yes to lead: bash ls"]
        # Had the words withdrawn the question, the call would not have run.
        await typist.until(lambda session: session.members[0].words == "Done.")
        assert ("user", "permission_response", "") in await typist.mail(LEAD)


async def test_a_short_word_answers_nothing_that_was_not_seen_or_is_not_plain(harness: AppHarness) -> None:
    def script(asked: Asked) -> Say:
        two = [Use("bash", {"command": "ls"}), Use("bash", {"command": "pwd"})]
        return Say("Two.", two) if hears(asked, "ls") else play(asked)

    async with chat(harness, script) as typist:
        await asked(typist, 2)
        unclear = "Add its number, as in: y 1. Open: 1, 2"
        assert (await typist.types("y"))[-1] == unclear
        await typist.types("/questions")
        assert (await typist.types("y"))[-1] == unclear
        assert await typist.types("y 7") == ["Question 7 is not open", "Open: 1, 2"]
        # On a screen one question is in front, and that one is meant.
        typist.talk.answers.shown(typist.session.questions[1])
        assert await typist.types("n") == ["no to lead: bash pwd"]
        assert await typist.types("y 1") == ["yes to lead: bash ls"]
        assert len(await typist.mail(LEAD)) == 3


async def test_a_short_word_to_somebody_who_asks_nothing_is_said(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        await typist.types("@alice ls")
        await typist.until(lambda session: len(session.questions) == 1)
        await typist.types("/questions")
        assert await typist.types("y") == ["said to lead. Still open: question 1 of alice. To answer it: y 1"]
        assert (await typist.mail(LEAD))[-1] == ("user", "message", "y")
        assert await typist.types("Any news?") == []
        assert await typist.types("@alice y") == ["yes to alice: bash ls"]


async def test_always_adds_the_rule_that_was_shown_and_it_can_be_dropped(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        assert await typist.types("/always 1") == ["always to lead: bash ls (adds the rule: allow bash(ls))"]
        assert await typist.types("/mode") == ["mode: default", "commands: no sandbox", "rule: allow bash(ls)"]
        assert (await typist.types("/mode drop allow bas"))[-1] == "Rules: allow bash(ls)"
        assert await typist.types("/mode drop allow bash(ls)") == ["removed the rule: allow bash(ls)"]
        assert await typist.types("/mode") == ["mode: default", "commands: no sandbox"]


@pytest.mark.parametrize(
    ("line", "words"), [("/no", ""), ("/no 1", ""), ("/no not now", "not now"), ("/no 1 a\nb", "a\nb")]
)
async def test_no_reaches_the_asker_with_the_words_behind_it(harness: AppHarness, line: str, words: str) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        typist.talk.answers.shown(typist.session.questions[0])
        assert await typist.types(line) == ["no to lead: bash ls"]
        assert ("user", "permission_response", words) in await typist.mail(LEAD)
        await typist.until(lambda session: session.members[0].words == "Done.")


@pytest.mark.behaviour("questions")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("/yes 1,2", ["yes to lead: bash ls", "yes to alice: bash ls"]),
        ("/no 2,1,2 not now", ["no to alice: bash ls", "no to lead: bash ls"]),
        (
            "/always 1,2",
            [f"always to {who}: bash ls (adds the rule: allow bash(ls))" for who in ("lead", "alice")],
        ),
    ],
)
async def test_who_asks_the_same_is_shown_beside_the_first_and_answered_with_it(
    harness: AppHarness, answer: str, told: list[str]
) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        await asked(typist)
        await typist.types("@alice ls")
        await typist.until(lambda session: len(session.questions) == 2)
        assert await typist.types("/questions") == [
            *ASKED,
            "question 2: alice asks the same as question 1: bash ls",
            "answer all of them with y 1,2, a 1,2 (adds the rule: allow bash(ls)) or n 1,2 WORDS",
        ]
        assert await typist.types("/yes 1,3") == ["Question 3 is not open", "Open: 1, 2"]
        assert await typist.types(answer) == told
        await typist.until(lambda session: not session.questions)


async def test_a_question_keeps_its_number_when_one_before_it_is_answered(harness: AppHarness) -> None:
    def script(asked: Asked) -> Say:
        two = [Use("bash", {"command": "ls"}), Use("bash", {"command": "pwd"})]
        return Say("Two.", two) if hears(asked, "ls") else play(asked)

    async with chat(harness, script) as typist:
        await asked(typist, 2)
        assert (await typist.types("/yes"))[-1] == "Add its number. Open: 1, 2"
        await typist.types("/questions")
        assert await typist.types("/no 2") == ["no to lead: bash pwd"]
        assert await typist.types("/yes 2") == ["Question 2 is not open", "Open: 1"]
        # Another was shown last: who types this may mean that one.
        assert (await typist.types("/yes"))[-1] == "Add its number. Open: 1"
        await typist.types("/questions")
        assert await typist.types("/yes") == ["yes to lead: bash ls"]


# -- members --------------------------------------------------------------------------------------


async def test_a_teammate_can_be_asked_to_leave(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        assert await typist.types("/stop alice") == ["alice was asked to leave. To see whether it has: /team"]
        await typist.until(lambda session: isinstance(session.members[1].status, Left))


async def test_who_is_interrupted_rests_and_goes_on_when_told(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await asked(typist)
        assert await typist.types("/interrupt") == ["lead was interrupted. It waits until you write to it"]
        await typist.until(lambda session: isinstance(session.members[0].status, Idle))
        assert await typist.types("/resume lead") == ["lead continues"]
        await typist.until(lambda session: bool(session.members[0].words))


async def test_modes_of_team_and_members_are_changed_and_shown(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await hired(typist)
        assert await typist.types("/mode acceptEdits") == ["mode of the team from now on: acceptEdits"]
        assert await typist.types("/mode plan alice") == ["mode of alice from now on: plan"]
        assert await typist.types("/mode") == [
            "mode: acceptEdits",
            "commands: no sandbox",
            "alice: plan",
            "in plan mode: alice",
        ]


async def test_a_member_that_a_cap_parked_goes_on_when_the_cap_is_raised(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        set_ = "until you leave. To set it from the start, use --max-tokens"
        await typist.types("hello")
        await typist.until(lambda session: isinstance(session.members[0].status, Idle) and session.spent.calls == 1)
        assert await typist.types("/budget tokens 1") == [f"tokens: 1 {set_}"]
        (capped,) = await typist.types("hello again")
        assert capped.startswith("lead cannot continue: budget: ")
        await typist.until(lambda session: isinstance(session.members[0].status, Parked))
        assert await typist.types("/resume lead") == [capped]
        raised = [f"tokens: 1,000,000 {set_}", "lead can continue"]
        assert await typist.types("/budget tokens 1,000,000") == raised
        await typist.until(lambda session: isinstance(session.members[0].status, Idle) and session.spent.calls == 2)


async def test_the_model_is_shown_and_exchanged(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        assert await typist.types("/model") == ["model: anthropic:claude-sonnet-4-5"]
        assert await typist.types("/model openai:gpt-5") == ["model from now on: openai:gpt-5"]
        assert await typist.types("/model") == ["model: openai:gpt-5"]


async def test_the_conversation_is_summarised_when_asked_for(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await typist.types("hello")
        await typist.until(lambda session: bool(session.members[0].words))
        assert await typist.types("/compact the names") == [
            "The lead's conversation will be summarised as soon as no tool call is running"
        ]
        await typist.until(lambda session: session.spent.calls == 2)


# -- naughty strings ------------------------------------------------------------------------------


async def test_nothing_that_is_typed_or_asked_reaches_the_terminal_as_more_than_text(harness: AppHarness) -> None:
    def script(asked: Asked) -> Say:
        # No provider can send lone surrogates.
        naughty = "".join(NAUGHTY).encode("utf-8", "replace").decode()
        return Say("Odd.", [Use("bash", {"command": naughty})]) if hears(asked, "ls") else play(asked)

    async with chat(harness, script) as typist:
        await asked(typist)
        replies = await typist.types("/questions")
        for text in NAUGHTY:
            for line in (
                f"@{text}",
                f"/{text}",
                f"/inbox {text}",
                f"/mode {text}",
                f"/mode drop {text}",
                f"/stop {text}",
            ):
                replies += await typist.types(line)
        replies += await typist.types("/no")
        assert obeyed("\n".join(replies)) == []
