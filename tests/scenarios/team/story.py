"""A piece of work for a whole team: a REST service becomes GraphQL.

The lead founds a team, puts four tasks on its board, each waiting for the ones before it, and has three teammates: an
analyst, a backend and a frontend developer. They take what fits them, write to one another, and the last task is
verified by a command. Then the lead lets everybody go and reports. Every part is a function of its conversation, so the
story can be told again after any kill, by any process, as often as one likes:

    python -m deskmate.testing.fake_provider --script tests/scenarios/team/story.py:STORY
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from deskmate.core.prompt.prompts import Spoke, Told
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import (
    Called,
    MemberScript,
    add_task,
    all_succeeded,
    answer_stop,
    ask_to_stop,
    called,
    calls_in,
    complete_task,
    hears,
    member_of,
    read_file,
    request_in,
    send_mail,
    spawn,
    step,
    was_told,
    write_file,
)

# -- what is there, and what there will be --------------------------------------------------------

REST = """GET /books       -> title, author
GET /authors     -> name, born
"""
CHECK = """for field in title author name born; do
  grep -q "$field" api/schema.graphql && grep -q "$field" web/pages.graphql || { echo "$field is missing"; exit 1; }
done
echo "every field is served and shown"
"""
NOTES = """books: title, author (error 404 when there is none)
authors: name, born (shown on the page of a book)
"""
SCHEMA = """type Book { title: String!, author: Author! }
type Author { name: String!, born: Int }
type Query { books: [Book!]!, authors: [Author!]! }
"""
PAGES = """query Shelf { books { title author { name born } } }
"""
BEFORE = {"api/rest.txt": REST, "check.sh": CHECK}
AFTER = {**BEFORE, "notes/endpoints.txt": NOTES, "api/schema.graphql": SCHEMA, "web/pages.graphql": PAGES}

# -- who writes what to whom ----------------------------------------------------------------------

ERRORS_TOO = "Please write down how each endpoint fails, too."
WHICH_PAGES = "Please note which page shows what."
LISTED = "The endpoints are in notes/endpoints.txt."
SERVED = "The schema is in api/schema.graphql."
LIST_OR_PAGES = "Do you serve books as a list or in pages?"
AS_A_LIST = "As a plain list; there are only a few."
SHOWN = "The pages ask GraphQL now; see web/pages.graphql."
REPORT = "Checked: every field is served and shown."
LETTERS: Mapping[str, list[tuple[str, str]]] = {
    "analyst": [("backend", ERRORS_TOO), ("frontend", WHICH_PAGES), ("frontend", SHOWN)],
    "backend": [("analyst", LISTED), ("frontend", LIST_OR_PAGES)],
    "frontend": [("backend", SERVED), ("backend", AS_A_LIST)],
    "lead": [("analyst", REPORT)],
}
OWNERS = {1: "analyst", 2: "backend", 3: "frontend", 4: "analyst"}
FINAL = "The service speaks GraphQL: schema and pages are in place, and every field was checked."
ANSWER = f"The team is at work.\n\nThey are leaving.\n\n{FINAL}"


# -- the lead -------------------------------------------------------------------------------------

TEAM = "graphql"
OPENING = Say(
    "First the work, then the team.",
    [
        add_task("List the endpoints", role="analyst", description="What does each return? Into notes/endpoints.txt."),
        add_task("Write the schema", role="backend", blockedBy=[1], description="Into api/schema.graphql."),
        add_task("Move the pages", role="frontend", blockedBy=["#2"], description="Into web/pages.graphql."),
        add_task("Check every field", role="analyst", blockedBy=[2, "3"], verify="sh check.sh"),
        spawn("analyst", role="analyst"),
        spawn("backend", role="backend"),
        spawn("frontend", role="frontend"),
    ],
)
MATES = ("analyst", "backend", "frontend")
CLOSING = Say("Well done, all of you.", [ask_to_stop(name) for name in MATES])


def lead(asked: Asked) -> Say:
    """Found the team, give out the work, wait for the report, let everybody go, and answer."""
    if not was_told(asked, f"You lead team '{TEAM}' now"):
        return Say("This takes a team.", [Use("TeamCreate", {"team_name": TEAM, "description": "REST to GraphQL"})])
    if not _has_said(asked, OPENING):
        return OPENING
    if not was_told(asked, REPORT):
        return Say("The team is at work.")
    if not _has_said(asked, CLOSING):
        return CLOSING
    return Say(FINAL) if all(was_told(asked, f"{name} left") for name in MATES) else Say("They are leaving.")


def _has_said(asked: Asked, say: Say) -> bool:
    return called(say) in [calls_in(passage) for passage in asked.prompt.passages if isinstance(passage, Spoke)]


# -- the teammates --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """How a task is done: one step after the other, the last of them not before all of `after` was heard."""

    steps: tuple[Say, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Teammate:
    """A part: what is said first, how each task is done, and what is answered to which question."""

    first: Say
    works: Mapping[int, Work]
    answers: Mapping[str, Say] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> Say:
        """Say what comes next."""
        if step(asked) == 0:
            return self.first
        if request := request_in(asked, "shutdown_request"):
            return Say(calls=[answer_stop(request)])
        answer = next((say for question, say in self.answers.items() if hears(asked, question)), None)
        return answer or self._work(asked)

    def _work(self, asked: Asked) -> Say:
        number, done, failed = self._progress(asked)
        work = self.works.get(number)
        if work is None or done == len(work.steps):
            return Say("That is done." if number else "I take what comes.")
        if failed:
            return _look_at(work.steps[done])
        if done == len(work.steps) - 1 and not all(was_told(asked, words) for words in work.after):
            return Say("Until I know more, I look around.", [Use("glob", {"pattern": "**/*"})])
        return work.steps[done]

    def _progress(self, asked: Asked) -> tuple[int, int, bool]:
        """Return which task this is about, how many of its steps came to something, and whether the last did not."""
        number, done, failed = 0, 0, False
        said: tuple[Called, ...] = ()
        for passage in asked.prompt.passages:
            if isinstance(passage, Spoke):
                said = calls_in(passage)
                continue
            work = self.works.get(number)
            if work and said and done < len(work.steps) and said == called(work.steps[done]):
                failed = not all_succeeded(passage)
                done += not failed
            else:
                failed = False
            given = [text for text in told_in(passage) if "is yours now" in text]
            number, done = (int(given[-1].split("#")[1].split()[0]), 0) if given else (number, done)
        return number, done, failed


def told_in(passage: Told) -> list[str]:
    """Return the words of a passage."""
    return [block.text for block in passage.blocks if hasattr(block, "text")]


def _look_at(failed: Say) -> Say:
    """Return a look at what a step that was cut off may have left behind."""
    paths = [use.arguments["path"] for use in failed.calls if "path" in use.arguments]
    return Say("Let me look first.", [read_file(path) for path in paths] or [Use("TaskList")])


def _reads(path: str) -> Say:
    return Say(calls=[read_file(path)])


def _writes(path: str, content: str) -> Say:
    return Say(calls=[write_file(path, content)])


def _ends(number: int, to: str, words: str) -> Say:
    # Completed first, so that a member that is told of it can begin with the task that waited.
    return Say(calls=[complete_task(number), send_mail(to, words)])


ANALYST = Teammate(
    first=Say("I take what is mine."),
    works={
        1: Work(
            (_reads("api/rest.txt"), _writes("notes/endpoints.txt", NOTES), _ends(1, "backend", LISTED)),
            after=(ERRORS_TOO, WHICH_PAGES),
        ),
        # Reported in a step of its own: what verifies may be cut off, and is then run again before anyone leaves.
        4: Work(
            (_reads("web/pages.graphql"), Say(calls=[complete_task(4)]), Say(calls=[send_mail("lead", REPORT)])),
            after=(SHOWN,),
        ),
    },
)
BACKEND = Teammate(
    first=Say(calls=[send_mail("analyst", ERRORS_TOO)]),
    works={
        2: Work(
            (_reads("notes/endpoints.txt"), _writes("api/schema.graphql", SCHEMA), _ends(2, "frontend", SERVED)),
            after=(LISTED,),
        )
    },
    answers={LIST_OR_PAGES: Say(calls=[send_mail("frontend", AS_A_LIST)])},
)
FRONTEND = Teammate(
    first=Say(calls=[send_mail("analyst", WHICH_PAGES)]),
    works={
        3: Work(
            (
                _reads("api/schema.graphql"),
                Say(calls=[send_mail("backend", LIST_OR_PAGES)]),
                _writes("web/pages.graphql", PAGES),
                _ends(3, "analyst", SHOWN),
            ),
            after=(SERVED, AS_A_LIST),
        )
    },
)
PARTS: Mapping[str, MemberScript] = {"lead": lead, "analyst": ANALYST, "backend": BACKEND, "frontend": FRONTEND}


def slowly(rounds: int) -> dict[str, MemberScript]:
    """Return the same story with so many more steps in each of its tasks."""
    more = tuple(Say(calls=[Use("grep", {"pattern": f"chapter {number}"})]) for number in range(rounds))
    slow = {
        name: replace(part, works={n: replace(work, steps=more + work.steps) for n, work in part.works.items()})
        for name, part in PARTS.items()
        if isinstance(part, Teammate)
    }
    return {**PARTS, **slow}


def STORY(asked: Asked) -> Say:  # noqa: N802 - a script as the fake provider takes it from the command line
    """Play the member that asks."""
    return PARTS[member_of(asked)](asked)
