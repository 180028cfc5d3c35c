"""The model.

    async with FakeProvider(LiteralAgent()) as provider: ...

It takes every name, number, id, tool and argument from its prompt: the system prompt, the tools on offer, and the
frames and sentences of the runtime. It remembers nothing else. If the prompt does not say enough, it raises `Stuck`,
and the test fails. It reads the user's request and the tasks in the small language of `literal_requests`, and
everything about the team with `literal_reading`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deskmate.core.prompt.prompts import Prompt
from deskmate.models.scripted import Say, Use
from deskmate.testing.literal.literal_reading import GAVE_OUT, Page, PrintedCall, Stuck, is_summary_request
from deskmate.testing.literal.literal_requests import Deed, UserRequest, Write, deeds_in, request_in
from deskmate.testing.scripts import Asked

__all__ = ["LiteralAgent", "Stuck"]

# The least that a summary can say. The runtime itself must keep everything else that the agent knows of its team.
EMPTY_SUMMARY = "I was at work."


@dataclass(frozen=True)
class LiteralAgent:
    """A model that knows only its prompt, and follows the first rule that applies.

    `patient`: it agrees to leave only when it has no work.
    """

    patient: bool = True

    def __call__(self, asked: Asked) -> Say:
        """Answer a request to a fake provider."""
        return self.answer(asked.prompt)

    def answer(self, prompt: Prompt) -> Say:
        """Return what the agent says and calls next. Raises Stuck if the prompt does not say how to continue."""
        page = Page(prompt)
        if is_summary_request(prompt):
            return Say(GAVE_OUT if page.began else EMPTY_SUMMARY)
        return next(say for rule in self._rules() if (say := rule(page)) is not None)

    def _rules(self) -> tuple[Callable[[Page], Say | None], ...]:
        return (_follow_refusal, self._leave, _judge_plan, _plan, _work, _lead, _rest)

    def _leave(self, page: Page) -> Say | None:
        request = page.open_shutdown
        if request is None:
            return None
        if self.patient and page.task is not None and request.refuse is not None:
            return _make(page, request.refuse, WHY=f"task #{page.task.number} is not done yet")
        return _make(page, request.agree)


def _follow_refusal(page: Page) -> Say | None:
    """Follow a refusal: make the call that it prints."""
    printed = page.advice
    return None if printed is None else _make(page, printed, WORDS="Please go on.")


def _judge_plan(page: Page) -> Say | None:
    plan = page.open_plan
    if plan is None:
        return None
    wanted = request_in(page.request).plans_mention
    if wanted in plan.text:
        return _make(page, plan.approve)
    return _make(page, plan.refuse, WHY=f"say something about {wanted}")


def _plan(page: Page) -> Say | None:
    """Submit a plan. It includes every reason for which an earlier plan was refused."""
    if not page.plans or page.plan_waits:
        return None
    plan = " ".join(["I do what my task says.", *page.refusals])
    return _make(page, page.how_to_plan, PLAN=plan)


# -- tasks ----------------------------------------------------------------------------------------


def _work(page: Page) -> Say | None:
    task = page.task
    if task is None:
        return None
    left = next((deed for deed in deeds_in(task.text) if not _is_done(page, deed)), None)
    if left is not None:
        return _do(page, left)
    return _make(page, task.complete)


def _do(page: Page, deed: Deed) -> Say:
    if isinstance(deed, Write):
        return _say(page, "write_file", path=deed.path, content=deed.content)
    page.must_know(deed.to)
    return _say(page, "SendMessage", recipient=deed.to, content=deed.words)


def _is_done(page: Page, deed: Deed) -> bool:
    return any(tool == deed.tool and deed.fits(arguments) for tool, arguments in page.successes)


# -- leading --------------------------------------------------------------------------------------


def _lead(page: Page) -> Say | None:
    if not page.is_lead:
        return None
    request = request_in(page.request)
    if not page.began:
        return Say("First the work, then the team.", [*_tasks(page, request), *_teammates(page, request)])
    done = page.all_tasks_done(len(request.tasks))
    if page.members and (done or (request.hurry and page.has_mail and not page.was_refused)):
        asked = [_use(page, page.how_to_dismiss(name)) for name in page.members if name not in page.asked_to_leave]
        return Say("You may leave.", asked) if asked else Say("I wait until they have left.")
    return Say(request.report if done else "I wait for the team.")


def _tasks(page: Page, request: UserRequest) -> Iterator[Use]:
    for task in request.tasks:
        given = {"subject": task.subject, "description": task.text, "role": task.role, "verify": task.verify}
        arguments = {name: value for name, value in given.items() if value}
        yield _use_with(page, "TaskCreate", **arguments, **({"blockedBy": task.after} if task.after else {}))


def _teammates(page: Page, request: UserRequest) -> Iterator[Use]:
    for mate in request.teammates:
        more = {"plan_mode_required": True} if mate.plans else {}
        yield _use_with(page, "Task", name=mate.name, role=mate.role, prompt="Take tasks from the board.", **more)


def _rest(page: Page) -> Say | None:
    return Say("I have nothing to do.")


# -- calls ----------------------------------------------------------------------------------------


def _make(page: Page, printed: PrintedCall, **words: str) -> Say:
    return Say("", [_use(page, printed, **words)])


def _use(page: Page, printed: PrintedCall, **words: str) -> Use:
    """Return a call as it was printed, with the agent's own words in place of words in capitals."""
    arguments = {
        name: words.get(value, value) if isinstance(value, str) else value for name, value in printed.arguments
    }
    return _use_with(page, printed.tool, **arguments)


def _say(page: Page, tool: str, **arguments: object) -> Say:
    return Say("", [_use_with(page, tool, **arguments)])


def _use_with(page: Page, tool: str, **arguments: object) -> Use:
    page.require(tool, arguments)
    return Use(tool, arguments)
