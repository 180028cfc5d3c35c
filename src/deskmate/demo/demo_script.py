"""Who says what when; start reading here.

A line is said once, with its calls, as soon as its speaker was told everything in `after`. Everything else is real:
what the calls do, when mail is heard, who takes which task, what the tests say.
"""

from collections.abc import Mapping

from deskmate.demo.application import State, text_of
from deskmate.demo.demo_parts import REQUEST, ScriptLine, ScriptPart, Use
from deskmate.models.scripted import Speak

TEAM = "graphql"
CHECK = "sh check.sh"
GOAL = "Move this library from REST to GraphQL. The page must show what it shows now, and REST goes."

# -- texts ----------------------------------------------------------------------------------------

ONE_REQUEST = "For the page I need title and year of every book and name and birth of its author, in one request."
FIRST_PLAN = "I replace the paths in library/service.py by one path, /graphql, with a schema in library/schema.py."
NOT_YET = (
    "The page still asks by REST and would break. Keep REST beside it until the page has moved, and say how you check."
)
BETTER_PLAN = (
    "I write library/schema.py and serve it at /graphql beside REST, which stays until the page has moved. "
    "An author is a field of its book, so that one request is enough. tests/test_graphql.py checks it."
)
HOW_DOES_IT_FAIL = "My plan is approved. How does the service fail today when something is not there?"
WITH_404 = "With 404 and an error in words; by GraphQL that is null. It stands in the notes, too."
LISTED = "Every endpoint, its fields and its failures are in notes/endpoints.md."
SERVED = "GraphQL is served at /graphql beside REST; the schema is library/schema.py."
PAGE_MOVED = "The page asks GraphQL now, once instead of five times. Only the README is left."
THANKS = "Thank you. If you are done, you may leave."
README_LEFT = "Not yet: the README still tells people to use REST. I write it first."
FINISH_FIRST = "You are right. Finish the README first."
ALL_MOVED = "The page and the README are done; nobody asks by REST any more."
REPORT = "REST is gone, the page shows what it showed, and all tests pass."

# -- calls ----------------------------------------------------------------------------------------


def mail(to: str, content: str) -> Use:
    """Return a call that sends a message."""
    return "SendMessage", {"recipient": to, "content": content}


def ask_to_leave(name: str, content: str) -> Use:
    """Return a call that asks a teammate to leave."""
    return "SendMessage", {"type": "shutdown_request", "recipient": name, "content": content}


def stay(content: str) -> Use:
    """Return a call by which a teammate refuses to leave yet."""
    kind = {"type": "shutdown_response", "recipient": "lead", "request_id": REQUEST}
    return "SendMessage", {**kind, "approve": False, "content": content}


def answer_plan(*, approve: bool, content: str) -> Use:
    """Return a call that answers the backend's plan."""
    kind = {"type": "plan_approval_response", "recipient": "backend", "request_id": REQUEST}
    return "SendMessage", {**kind, "approve": approve, "content": content}


def task(subject: str, description: str, **more: object) -> Use:
    """Return a call that creates a task."""
    return "TaskCreate", {"subject": subject, "description": description, **more}


def teammate(name: str, prompt: str, **more: object) -> Use:
    """Return a call that starts a teammate. Its role is its name."""
    return "Task", {"name": name, "role": name, "prompt": prompt, **more}


def read(path: str) -> Use:
    """Return a call that reads a file."""
    return "read_file", {"path": path}


def write(path: str, state: State = "graphql") -> Use:
    """Return a call that writes a file as it is in a state of the application."""
    return "write_file", {"path": path, "content": text_of(path, state)}


def complete(number: int) -> Use:
    """Return a call that completes a task."""
    return "TaskUpdate", {"taskId": number, "status": "completed"}


def run(command: str) -> Use:
    """Return a call that runs a command."""
    return "bash", {"command": command}


# -- the parts ------------------------------------------------------------------------------------

LEAD = ScriptPart(
    (
        ScriptLine(
            "A service, a page and no moment in between where either is broken: this takes a team.",
            (("TeamCreate", {"team_name": TEAM, "description": "REST to GraphQL"}),),
        ),
        ScriptLine(
            "First the work: four tasks, each waiting for what it needs.",
            (
                task("List the endpoints", "Fields and failures of each, into notes/endpoints.md.", role="analyst"),
                task("Serve GraphQL", "WorkerThreads REST, with tests.", role="backend", blockedBy=[1]),
                task("Move the page", "Its tests stay as they are. README, too.", role="frontend", blockedBy=[2]),
                task("Take REST away", "Nothing may be lost.", role="analyst", blockedBy=[3], verify=CHECK),
            ),
            after=(f"You lead team '{TEAM}' now",),
        ),
        ScriptLine(
            "Then the people. The backend shows me its plan before it touches anything.",
            (
                teammate("analyst", "You know what the service does. Begin with task 1."),
                teammate("backend", "You write the service. Plan first.", plan_mode_required=True),
                teammate("frontend", "You write the page. Tell the backend what you need."),
            ),
            then="The team is at work.",
        ),
        ScriptLine(
            "That would break the page for a while.",
            (answer_plan(approve=False, content=NOT_YET),),
            after=("plan_approval_request", FIRST_PLAN),
            then="I wait for a better plan.",
        ),
        ScriptLine(
            "Nothing breaks in between, and it is checked.",
            (answer_plan(approve=True, content="Good. Go ahead."),),
            after=("plan_approval_request", BETTER_PLAN),
            then="The plan stands.",
        ),
        ScriptLine(
            "The page is there; the frontend may go.",
            (ask_to_leave("frontend", THANKS),),
            after=(PAGE_MOVED,),
            then="I asked the frontend.",
        ),
        ScriptLine(
            "It is right.", (mail("frontend", FINISH_FIRST),), after=(README_LEFT,), then="I wait for the rest."
        ),
        ScriptLine(
            "Well done, all of you.",
            tuple(ask_to_leave(name, "It is done. Thank you.") for name in ("analyst", "backend", "frontend")),
            after=(REPORT,),
            then="They are leaving.",
        ),
        ScriptLine(
            "The library speaks GraphQL. The page shows what it showed, with one request instead of five; "
            "REST is gone; all tests pass.",
            after=("analyst left", "backend left", "frontend left"),
        ),
    )
)

ANALYST = ScriptPart(
    (
        ScriptLine(
            "I take the first task and see what there is.",
            (
                ("TaskUpdate", {"taskId": 1, "status": "in_progress"}),
                read("library/service.py"),
                read("library/page.py"),
            ),
        ),
        ScriptLine("Three endpoints; I write down what each returns and how it fails.", (write("notes/endpoints.md"),)),
        ScriptLine(
            "The backend can begin.",
            (complete(1), mail("backend", LISTED)),
            then="I am here when something has to be checked.",
        ),
        ScriptLine(
            "Nobody asks by REST any more. I look at it once more before I take it away.",
            (read("library/service.py"), read("tests/test_service.py"), ("grep", {"pattern": r"/books|/authors"})),
            after=("Task #4 is yours now",),
        ),
        ScriptLine("REST goes, and a test says so.", (write("library/service.py"), write("tests/test_service.py"))),
        ScriptLine("This is done when the tests say it is.", (complete(4),), optional=True),
        ScriptLine("I keep it.", (run("git add -A && git commit -q -m 'Move from REST to GraphQL'"),), optional=True),
        ScriptLine("I tell the lead.", (mail("lead", REPORT),), then="All is checked."),
    ),
    replies=(ScriptLine("I know that one.", (mail("backend", WITH_404),), after=(HOW_DOES_IT_FAIL,)),),
)

BACKEND = ScriptPart(
    (
        ScriptLine(
            "I look at the service, then I make a plan.",
            (read("library/service.py"), read("library/books.py"), ("glob", {"pattern": "tests/*.py"})),
        ),
        ScriptLine(
            "This is what I want to do.", (("ExitPlanMode", {"plan": FIRST_PLAN}),), then="The lead has my plan."
        ),
        ScriptLine(
            "The lead is right about the page. Both, then, until it has moved.",
            (("ExitPlanMode", {"plan": BETTER_PLAN}),),
            after=('approve="no"',),
            then="The lead has my second plan.",
        ),
        ScriptLine(
            "I may begin; one thing I have to know.",
            (mail("analyst", HOW_DOES_IT_FAIL),),
            after=('approve="yes"',),
            then="I begin as soon as the endpoints are listed.",
        ),
        ScriptLine(
            "The notes first.",
            (read("notes/endpoints.md"), read("library/service.py")),
            after=("Task #2 is yours now",),
        ),
        ScriptLine(
            "The schema, the service with both, and tests.",
            (write("library/schema.py"), write("library/service.py", "both"), write("tests/test_graphql.py")),
        ),
        ScriptLine("Do the old tests and the new ones pass?", (run(CHECK),), optional=True),
        ScriptLine(
            "GraphQL is there; the page can move.",
            (complete(2), mail("frontend", SERVED)),
            then="The service is done.",
        ),
    )
)

FRONTEND = ScriptPart(
    (
        ScriptLine(
            "I look at the page and say what it needs.",
            (read("library/page.py"), mail("backend", ONE_REQUEST)),
            then="I move the page as soon as GraphQL is there.",
        ),
        ScriptLine(
            "Everything the page shows is in the schema.",
            (read("library/schema.py"), read("library/page.py")),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("One query instead of five requests.", (write("library/page.py"),)),
        ScriptLine("The lead wants to know.", (mail("lead", PAGE_MOVED),)),
        ScriptLine(
            "I am not done.",
            (stay(README_LEFT),),
            after=('type="shutdown_request"', THANKS),
            meanwhile=Speak("Where else is REST named?", [("grep", {"pattern": "GET /"})]),
        ),
        ScriptLine("The README.", (read("README.md"),)),
        ScriptLine("It says how to ask now.", (write("README.md"),)),
        ScriptLine("Now I am done.", (complete(3), mail("analyst", ALL_MOVED)), then="That was the page."),
    )
)

PARTS: Mapping[str, ScriptPart] = {"lead": LEAD, "analyst": ANALYST, "backend": BACKEND, "frontend": FRONTEND}
