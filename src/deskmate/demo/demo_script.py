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
GOAL = "Move this library service from REST to GraphQL, then remove REST. The page must still show the same content."

# -- texts ----------------------------------------------------------------------------------------

ONE_REQUEST = (
    "The page needs the title and year of every book, and the name and birth year of its author, in one request."
)
FIRST_PLAN = "Replace the paths in library/service.py with one path, /graphql. The schema goes into library/schema.py."
NOT_YET = (
    "The page still uses REST, so it would break. Keep REST until the page has moved, and say how you will test it."
)
BETTER_PLAN = (
    "Write library/schema.py and serve it at /graphql. Keep REST until the page has moved. "
    "Make the author a field of the book, so that one request is enough. Test it in tests/test_graphql.py."
)
HOW_DOES_IT_FAIL = "My plan is approved. What does the service return today if something is not found?"
WITH_404 = "404 with an error message. In GraphQL it becomes null. The notes say so too."
LISTED = "All endpoints, with their fields and errors, are in notes/endpoints.md."
SERVED = "GraphQL is served at /graphql, next to REST. The schema is in library/schema.py."
PAGE_MOVED = "The page uses GraphQL now, with one request instead of five. Only the README is left."
THANKS = "Thank you. If you are done, you can leave."
README_LEFT = "Not yet: the README still tells people to use REST. I want to update it first."
FINISH_FIRST = "You are right. Finish the README first."
ALL_MOVED = "The page and the README are done. Nothing uses REST any more."
REPORT = "REST is removed, the page shows the same content, and all tests pass."

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
            "The service and the page must work at every step. This needs a team.",
            (Use("TeamCreate", {"team_name": TEAM, "description": "REST to GraphQL"}),),
        ),
        ScriptLine(
            "Tasks first: four of them, each blocked by the one before.",
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
            "Now the teammates. The backend must show me its plan before it changes anything.",
            (
                teammate("analyst", "You analyse the service. Start with task 1."),
                teammate("backend", "You write the service. Plan first.", plan_mode_required=True),
                teammate("frontend", "You write the page. Tell the backend what you need."),
            ),
            then="The team is working.",
        ),
        ScriptLine(
            "This plan would break the page for a while.",
            (answer_plan("backend", REQUEST, approve=False, content=NOT_YET),),
            after=("plan_approval_request", FIRST_PLAN),
            then="I am waiting for a better plan.",
        ),
        ScriptLine(
            "This plan breaks nothing, and it has tests.",
            (answer_plan("backend", REQUEST, approve=True, content="Good. Go ahead."),),
            after=("plan_approval_request", BETTER_PLAN),
            then="The plan is approved.",
        ),
        ScriptLine(
            "The page has moved, so the frontend can leave.",
            (ask_to_stop("frontend", THANKS),),
            after=(PAGE_MOVED,),
            then="I asked the frontend to leave.",
        ),
        ScriptLine(
            "The frontend is right.",
            (send_mail("frontend", FINISH_FIRST),),
            after=(README_LEFT,),
            then="I am waiting for the rest.",
        ),
        ScriptLine(
            "Well done, everyone.",
            tuple(ask_to_stop(name, "We are done. Thank you.") for name in ("analyst", "backend", "frontend")),
            after=(REPORT,),
            then="They are leaving.",
        ),
        ScriptLine(
            "The library uses GraphQL now. The page shows the same content with one request instead of five. "
            "REST is removed, and all tests pass.",
            after=("analyst left", "backend left", "frontend left"),
        ),
    )
)

ANALYST = ScriptPart(
    (
        ScriptLine(
            "I will take the first task and look at the service.",
            (
                claim_task(1),
                read_file("library/service.py"),
                read_file("library/page.py"),
            ),
        ),
        ScriptLine(
            "There are three endpoints. I will list what each returns and how it fails.", (write("notes/endpoints.md"),)
        ),
        ScriptLine(
            "The backend can start now.",
            (complete_task(1), send_mail("backend", LISTED)),
            then="I am here if something needs to be checked.",
        ),
        ScriptLine(
            "Nothing uses REST any more. I will check once more before I remove it.",
            (
                read_file("library/service.py"),
                read_file("tests/test_service.py"),
                Use("grep", {"pattern": r"/books|/authors"}),
            ),
            after=("Task #4 is yours now",),
        ),
        ScriptLine(
            "I will remove REST, and test that it is gone.",
            (write("library/service.py"), write("tests/test_service.py")),
        ),
        ScriptLine("The task is done if the tests pass.", (complete_task(4),), optional=True),
        ScriptLine(
            "I will commit it.",
            (run_command("git add -A && git commit -q -m 'Move from REST to GraphQL'"),),
            optional=True,
        ),
        ScriptLine("I will tell the lead.", (send_mail("lead", REPORT),), then="Everything is checked."),
    ),
    replies=(ScriptLine("I can answer that.", (send_mail("backend", WITH_404),), after=(HOW_DOES_IT_FAIL,)),),
)

BACKEND = ScriptPart(
    (
        ScriptLine(
            "I will look at the service, then write a plan.",
            (read_file("library/service.py"), read_file("library/books.py"), Use("glob", {"pattern": "tests/*.py"})),
        ),
        ScriptLine("This is my plan.", (present_plan(FIRST_PLAN),), then="The lead has my plan."),
        ScriptLine(
            "The lead is right. I will keep both until the page has moved.",
            (present_plan(BETTER_PLAN),),
            after=('approve="no"',),
            then="The lead has my second plan.",
        ),
        ScriptLine(
            "My plan is approved. I have one question.",
            (send_mail("analyst", HOW_DOES_IT_FAIL),),
            after=('approve="yes"',),
            then="I will start when the endpoints are listed.",
        ),
        ScriptLine(
            "I will read the notes first.",
            (read_file("notes/endpoints.md"), read_file("library/service.py")),
            after=("Task #2 is yours now",),
        ),
        ScriptLine(
            "Now the schema, the service with both APIs, and tests.",
            (write("library/schema.py"), write("library/service.py", "both"), write("tests/test_graphql.py")),
        ),
        ScriptLine("Do the old and the new tests pass?", (run_command(CHECK),), optional=True),
        ScriptLine(
            "GraphQL works, so the page can move.",
            (complete_task(2), send_mail("frontend", SERVED)),
            then="The service is done.",
        ),
    )
)

FRONTEND = ScriptPart(
    (
        ScriptLine(
            "I will look at the page and say what it needs.",
            (read_file("library/page.py"), send_mail("backend", ONE_REQUEST)),
            then="I will move the page when GraphQL is ready.",
        ),
        ScriptLine(
            "The schema has everything that the page shows.",
            (read_file("library/schema.py"), read_file("library/page.py")),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("One query replaces five requests.", (write("library/page.py"),)),
        ScriptLine("I will tell the lead.", (send_mail("lead", PAGE_MOVED),)),
        ScriptLine(
            "I am not done yet.",
            (answer_stop(REQUEST, approve=False, content=README_LEFT),),
            after=('type="shutdown_request"', THANKS),
            meanwhile=Say("Where else is REST mentioned?", [Use("grep", {"pattern": "GET /"})]),
        ),
        ScriptLine("Now the README.", (read_file("README.md"),)),
        ScriptLine("It should describe GraphQL.", (write("README.md"),)),
        ScriptLine("Now I am done.", (complete_task(3), send_mail("analyst", ALL_MOVED)), then="The page is done."),
    )
)

PARTS: Mapping[str, ScriptPart] = {"lead": LEAD, "analyst": ANALYST, "backend": BACKEND, "frontend": FRONTEND}
