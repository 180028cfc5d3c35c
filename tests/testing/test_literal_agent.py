"""The literal agent knows nothing but its prompt: what a prompt leaves out, it cannot do."""

import pytest

from deskmate.core.prompt.call_texts import call_text, ways_to_answer, ways_to_end
from deskmate.core.prompt.compaction import summary_request
from deskmate.core.prompt.prompts import CallBlock, Passage, Prompt, ResultBlock, Spoke, TextBlock, Told, ToolSpec
from deskmate.testing import Say, Use
from deskmate.testing.literal.literal_agent import LiteralAgent, Stuck
from deskmate.testing.literal.literal_reading import calls_in
from deskmate.testing.literal.literal_requests import Tell, WantedMate, WantedTask, Write, deeds_in, request_in

TEAMMATE = "You are ann, a coding agent and a teammate on team main.\nOn the team besides you: lead, ben (tester)."
MAIL = frozenset({"type", "recipient", "content", "request_id", "approve"})
TOOLS = {"SendMessage": MAIL, "TaskUpdate": {"taskId", "status"}, "write_file": {"path", "content"}}


def prompt(*passages: Passage, without: str = "") -> Prompt:
    """Return a prompt with the usual tools, but for one."""
    specs = (ToolSpec(name, "", {"properties": {key: {} for key in names}}) for name, names in TOOLS.items())
    return Prompt(TEAMMATE, passages, tuple(spec for spec in specs if spec.name != without))


def told(*texts: str) -> Told:
    return Told(tuple(map(TextBlock, texts)))


def task(text: str, how: str) -> str:
    return f'Task #3 is yours now.\n<deskmate-task id="3" created_by="lead">{text}</deskmate-task>\n{how}'


DONE = ways_to_end(3)


def answer(asked: Prompt) -> Say:
    return LiteralAgent().answer(asked)


# -- reading ----------------------------------------------------------------------------------------


def test_a_printed_call_is_read_back_with_its_label() -> None:
    found, _ = calls_in("Answer this plan. " + ways_to_answer("前端", 'x":0'))
    assert (found.label, found.tool) == ("To approve it", "SendMessage")
    assert dict(found.arguments) == {
        "type": "plan_approval_response",
        "recipient": "前端",
        "request_id": 'x":0',
        "approve": True,
    }


@pytest.mark.parametrize("text", ["call foo(1)", "TaskUpdate(taskId=)", "TaskUpdate(taskId=3", "f(x)"])
def test_what_is_no_whole_call_is_none(text: str) -> None:
    assert calls_in(text) == []


def test_a_request_is_read_as_it_is_written() -> None:
    text = (
        "Do it.\nTasks:\n"
        '- List [analyst]: write a.txt: "x \\"y\\""\n'
        '- Check [tester, after 1, verify make test]: tell ben: "look"\n'
        "Team: ann (analyst), ben (tester, plans)\nApprove only plans that mention: tests\nReport: Done.\n"
    )
    request = request_in(text)
    assert request.tasks == (
        WantedTask("List", 'write a.txt: "x \\"y\\""', "analyst"),
        WantedTask("Check", 'tell ben: "look"', "tester", (1,), "make test"),
    )
    assert request.teammates == (WantedMate("ann", "analyst", plans=False), WantedMate("ben", "tester", plans=True))
    assert (request.plans_mention, request.hurry, request.report) == ("tests", False, "Done.")
    assert deeds_in(f"{request.tasks[0].text}; {request.tasks[1].text}") == [
        Write("a.txt", 'x "y"'),
        Tell("ben", "look"),
    ]


# -- doing ------------------------------------------------------------------------------------------


def test_a_task_is_done_as_it_says_and_then_completed_as_printed() -> None:
    first = told(task('write a.txt: "x"; tell ben: "hi"', DONE))
    write = Use("write_file", {"path": "a.txt", "content": "x"})
    assert answer(prompt(first)).calls == [write]
    wrote = Spoke((CallBlock("1", "write_file", write.arguments),)), Told((ResultBlock("1", "wrote it"),))
    tell = Use("SendMessage", {"recipient": "ben", "content": "hi"})
    assert answer(prompt(first, *wrote)).calls == [tell]
    sent = Spoke((CallBlock("2", "SendMessage", tell.arguments),)), Told((ResultBlock("2", "sent to ben"),))
    assert answer(prompt(first, *wrote, *sent)).calls == [Use("TaskUpdate", {"taskId": 3, "status": "completed"})]


def test_what_a_refusal_prints_is_done_first() -> None:
    call = Spoke((CallBlock("1", "TaskUpdate", {"taskId": 3, "status": "completed"}),))
    refused = Told((ResultBlock("1", f"No. Do this: {call_text('write_file', path='b', content='c')}.", ok=False),))
    assert answer(prompt(told("go"), call, refused)).calls == [Use("write_file", {"path": "b", "content": "c"})]


def test_a_summary_is_asked_for_and_says_next_to_nothing() -> None:
    assert answer(prompt(told(task('tell ben: "hi"', DONE), summary_request()))).text == "I was at work."


# -- getting stuck ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (prompt(told(task("", "Go."))), "no call is printed after 'When it is done'"),
        (prompt(told(task("", DONE)), without="TaskUpdate"), "TaskUpdate, and it is not on offer"),
        (prompt(told(task('tell zoe: "hi"', DONE))), "nothing says that zoe is on the team"),
        (
            prompt(told(task("", f"When it is done: {call_text('TaskUpdate', taskId=3, state='x')}."))),
            "its schema has no such argument",
        ),
        (prompt(told("You are in plan mode. Make a plan.")), "nothing says how to submit a plan"),
        (
            prompt(
                told('<teammate-message sender="lead" type="shutdown_request" request_id="r">go</teammate-message>')
            ),
            "no call is printed after 'To leave'",
        ),
    ],
)
def test_what_the_prompt_leaves_out_it_cannot_do(asked: Prompt, why: str) -> None:
    with pytest.raises(Stuck, match=why):
        answer(asked)


def test_a_summary_takes_away_all_that_it_does_not_say() -> None:
    before = told(
        "ben (tester) joined the team.", "<summary>I was at work.\n\nOn your team now:\n- lead: idle\n</summary>"
    )
    after = told(task('tell ben: "hi"', DONE))
    with pytest.raises(Stuck, match="nothing says that ben is on the team"):
        answer(prompt(before, Spoke((TextBlock("Well."),)), after))
