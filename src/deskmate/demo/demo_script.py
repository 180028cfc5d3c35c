"""Who says what when; start reading here.

A line is said once, with its calls, as soon as its speaker was told everything in `after`. Everything else is real:
what the calls do, when mail is heard, who takes which task, what the tests say.
"""

from collections.abc import Mapping

from deskmate.demo.application import State, text_of
from deskmate.demo.demo_parts import REQUEST, ScriptLine, ScriptPart
from deskmate.models.scripted import Say, Use
from deskmate.models.scripted.script_calls import (
    add_task,
    answer_plan,
    answer_stop,
    ask_to_stop,
    claim_task,
    complete_task,
    present_plan,
    read_file,
    run_command,
    send_mail,
    spawn,
    write_file,
)

TEAM = "graphql"
CHECK = "sh check.sh"
BRANCH = "git switch -q -c graphql"
GOAL = "Move this library service from REST to GraphQL, then remove REST. The page must still show the same content."
# The demo kills the team while this member runs a command.
CUT_OFF = "frontend"

# -- texts ----------------------------------------------------------------------------------------

ONE_REQUEST = (
    "Here is what the page shows: title and year of every book, name and birth year of its author. "
    "Can I have all of that in one request?"
)
FIRST_PLAN = """\
1. Replace the paths in `library/service.py` with one path, `/graphql`
2. Put the schema into `library/schema.py`"""
NOT_YET = "The page still talks to REST, so this takes it down. Keep REST until the page has moved, and add tests."
BETTER_PLAN = """\
1. Write `library/schema.py`, with the author as a field of the book: one request is enough then
2. Serve it at `/graphql`, **next to** REST
3. Test it in `tests/test_graphql.py`
4. REST goes when nothing uses it any more"""
HOW_DOES_IT_FAIL = "One thing before I start: what does the service say today if a book does not exist?"
WITH_404 = "404 and an error message. In GraphQL that becomes null."
LISTED = "All endpoints, with their fields and errors, are in notes/endpoints.md."
SERVED = "GraphQL is up at /graphql, next to REST. The schema is in library/schema.py."
PAGE_MOVED = "The page is on GraphQL: one request instead of five. Only the README is left."
THANKS = "Nice work. If that is everything, you can leave."
README_LEFT = "Not quite: the README still tells people to use REST. Let me fix that first."
FINISH_FIRST = "You are right. Finish the README."
ALL_MOVED = "The page and the README are done. As far as I know, nothing uses REST any more."
REPORT = "REST is removed, and all tests pass. It is committed."

# -- calls ----------------------------------------------------------------------------------------


def write(path: str, state: State = "graphql") -> Use:
    """Return a call that writes a file as it is in a state of the application."""
    return write_file(path, text_of(path, state))


def teammate(name: str, prompt: str, **more: object) -> Use:
    """Return a call that starts a teammate. Its role is its name."""
    return spawn(name, role=name, prompt=prompt, **more)


# -- the parts ------------------------------------------------------------------------------------

LEAD = ScriptPart(
    (
        ScriptLine(
            "Five requests to show four books: four too many. Nothing may break on the way, so I will get a team.",
            (Use("TeamCreate", {"team_name": TEAM, "description": "REST to GraphQL"}),),
        ),
        ScriptLine(
            "First the board: four tasks, and each waits for the one before.",
            (
                add_task(
                    "List the endpoints",
                    description="List their fields and errors in notes/endpoints.md.",
                    role="analyst",
                ),
                add_task(
                    "Serve GraphQL", description="Keep REST working, and add tests.", role="backend", blockedBy=[1]
                ),
                add_task(
                    "Move the page",
                    description="Do not change its tests. Update the README too.",
                    role="frontend",
                    blockedBy=[2],
                ),
                add_task(
                    "Remove REST", description="The page must still work.", role="analyst", blockedBy=[3], verify=CHECK
                ),
            ),
            after=(f"You lead team '{TEAM}' now",),
        ),
        ScriptLine(
            "Now the people. The backend shows me a plan before it touches anything.",
            (
                teammate("analyst", "You know the service. Start with task 1."),
                teammate("backend", "You write the service. Plan first.", plan_mode_required=True),
                teammate("frontend", "You write the page. Tell the backend what you need."),
            ),
            then="Everybody has work.",
        ),
        ScriptLine(
            "This plan takes the page down until the frontend is done.",
            (answer_plan("backend", REQUEST, approve=False, content=NOT_YET),),
            after=("plan_approval_request", FIRST_PLAN),
            then="I asked for a better plan.",
            # The user may have answered it first.
            optional=True,
        ),
        ScriptLine(
            "Much better. It breaks nothing, and it has tests.",
            (answer_plan("backend", REQUEST, approve=True, content="Good plan. Go ahead."),),
            after=("plan_approval_request", BETTER_PLAN),
            then="The plan is approved.",
            optional=True,
            again="The same plan again. It still breaks nothing.",
            unless=PAGE_MOVED,
            each=BETTER_PLAN,
        ),
        ScriptLine(
            "The page has moved. The frontend can go.",
            (ask_to_stop("frontend", THANKS),),
            after=(PAGE_MOVED,),
            then="I asked the frontend to leave.",
        ),
        ScriptLine(
            "Fair point.",
            (send_mail("frontend", FINISH_FIRST),),
            after=(README_LEFT,),
            then="The frontend finishes the README.",
        ),
        ScriptLine(
            "That was the last task. Well done, everyone.",
            tuple(ask_to_stop(name, "We are done. Thank you.") for name in ("analyst", "backend", "frontend")),
            after=(REPORT,),
            then="Everybody packs up.",
        ),
        ScriptLine(
            "Done. The page shows the same four books with one request instead of five. REST is gone, and all "
            "tests pass.",
            after=("analyst left", "backend left", "frontend left"),
        ),
    )
)

ANALYST = ScriptPart(
    (
        ScriptLine(
            "The first task is mine. What does the service do today?",
            (
                claim_task(1),
                read_file("library/service.py"),
                read_file("library/page.py"),
            ),
        ),
        ScriptLine(
            "Three endpoints. I will write down what each returns and how it fails.", (write("notes/endpoints.md"),)
        ),
        ScriptLine(
            "The list is ready, so the backend can start.",
            (complete_task(1), send_mail("backend", LISTED)),
            then="I am here if something needs to be checked.",
        ),
        ScriptLine(
            "Nothing uses REST any more? I will look before I delete it.",
            (
                read_file("library/service.py"),
                read_file("tests/test_service.py"),
                Use("grep", {"pattern": r"/books|/authors"}),
            ),
            after=("Task #4 is yours now",),
        ),
        ScriptLine(
            "Only its own tests do. REST goes, and a test makes sure that it stays gone.",
            (write("library/service.py"), write("tests/test_service.py")),
        ),
        ScriptLine("The board runs the tests before it believes me.", (complete_task(4),), optional=True),
        ScriptLine(
            "All green. I will commit it.",
            (run_command("git add -A && git commit -q -m 'Move from REST to GraphQL'"),),
            optional=True,
        ),
        ScriptLine("The lead will like this.", (send_mail("lead", REPORT),), then="Everything is checked."),
    ),
    replies=(ScriptLine("I know that one.", (send_mail("backend", WITH_404),), after=(HOW_DOES_IT_FAIL,)),),
)

BACKEND = ScriptPart(
    (
        ScriptLine(
            "I will read the service, then write a plan.",
            (read_file("library/service.py"), read_file("library/books.py"), Use("glob", {"pattern": "tests/*.py"})),
        ),
        ScriptLine("Short and simple:", (present_plan(FIRST_PLAN),), then="The lead has my plan."),
        ScriptLine(
            "True, I forgot the page. Both will run side by side until it has moved.",
            (present_plan(BETTER_PLAN),),
            after=('approve="no"',),
            then="The lead has my second plan.",
            # The user may refuse this one as well.
            again="I know no safer way. Here it is once more.",
            unless='approve="yes"',
            each='approve="no"',
        ),
        ScriptLine(
            "Approved. A branch of its own would keep this tidy.",
            (send_mail("analyst", HOW_DOES_IT_FAIL), run_command(BRANCH)),
            after=('approve="yes"',),
            then="Ready. The board gives me my task as soon as it is free.",
            optional=True,
        ),
        ScriptLine(
            "The notes first.",
            (read_file("notes/endpoints.md"), read_file("library/service.py")),
            after=("Task #2 is yours now",),
        ),
        ScriptLine(
            "Now the schema, the service with both APIs, and tests.",
            (write("library/schema.py"), write("library/service.py", "both"), write("tests/test_graphql.py")),
        ),
        ScriptLine("Do the old tests and the new ones pass?", (run_command(CHECK),)),
        ScriptLine(
            "They do, so the page can move.",
            (complete_task(2), send_mail("frontend", SERVED)),
            then="The service is done.",
        ),
    )
)

FRONTEND = ScriptPart(
    (
        ScriptLine(
            "I will read the page and tell the backend what it needs.",
            (read_file("library/page.py"), send_mail("backend", ONE_REQUEST)),
            then="I will move the page when GraphQL is up.",
        ),
        ScriptLine(
            "My turn. The schema has everything that the page shows.",
            (read_file("library/schema.py"), read_file("library/page.py")),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("One query replaces five requests.", (write("library/page.py"),)),
        ScriptLine(
            "Does it still show the same four books?",
            (run_command(CHECK),),
            again="My test run was cut off, so I do not know how it ended. Once more.",
        ),
        ScriptLine("It does. The lead should know.", (send_mail("lead", PAGE_MOVED),)),
        ScriptLine(
            "I am not done yet.",
            (answer_stop(REQUEST, approve=False, content=README_LEFT),),
            after=('type="shutdown_request"', THANKS),
            meanwhile=Say("Where else is REST mentioned?", [Use("grep", {"pattern": "GET /"})]),
        ),
        ScriptLine("Now the README.", (read_file("README.md"),)),
        ScriptLine("It should tell people about GraphQL.", (write("README.md"),)),
        ScriptLine("Now I am done.", (complete_task(3), send_mail("analyst", ALL_MOVED)), then="The page is done."),
    )
)

PARTS: Mapping[str, ScriptPart] = {"lead": LEAD, "analyst": ANALYST, "backend": BACKEND, "frontend": FRONTEND}

# A screen shows the conversation of the member that begins to say this.
SCENES = frozenset(
    {
        LEAD.lines[0].says,
        LEAD.lines[3].says,
        LEAD.lines[5].says,
        LEAD.lines[7].says,
        BACKEND.lines[3].says,
        BACKEND.lines[5].says,
        FRONTEND.lines[1].says,
        FRONTEND.lines[3].again,
        ANALYST.lines[4].says,
    }
)
