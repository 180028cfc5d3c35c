"""The model of docs/tutorial.md: what each agent there says, so that who has no key can follow it, word by word.

    python -m deskmate.testing.fake_provider --script examples/02_tutorial.py:SCRIPT

Each part reads its conversation and nothing else. So it goes on where it was, after a `kill -9` too.
"""

from deskmate.demo.demo_parts import REQUEST, ScriptLine, ScriptPart, Use, play
from deskmate.errors import ModelRejected
from deskmate.testing.scripts import Asked, Say
from deskmate.testing.scripts import Use as Called

KELVIN = """

def kelvin(celsius):
    return celsius + 273.15
"""
TESTS = """

class Kelvin(unittest.TestCase):
    def test_water_freezes(self):
        self.assertEqual(kelvin(0), 273.15)
"""
ABSOLUTE_ZERO = """
    def test_nothing_is_colder(self):
        self.assertEqual(kelvin(-273.15), 0)
"""
README = """# convert

    >>> from convert import kelvin
    >>> kelvin(100)
    373.15
"""
PLAN = "1. kelvin(celsius) below fahrenheit, in the same way. 2. Try it once. The tests are the checker's."
FOUND = "One function, fahrenheit, and one test, in unittest. Nothing else imports convert.py."
CHECKED = "Both scales are tested, and the check passes."


def edit(path: str, old: str, new: str) -> Use:
    """Return what changes a file that was read."""
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def read(path: str) -> Use:
    """Return a look at a file."""
    return "read_file", {"path": path}


def task(subject: str, **more: object) -> Use:
    """Return what puts a task on the board."""
    return "TaskCreate", {"subject": subject, **more}


def teammate(name: str, role: str, prompt: str, **more: object) -> Use:
    """Return what makes a teammate."""
    return "Task", {"name": name, "role": role, "prompt": prompt, **more}


def update(number: int, status: str) -> Use:
    """Return what takes or ends a task."""
    return "TaskUpdate", {"taskId": number, "status": status}


def mail(to: str, content: str, **more: object) -> Use:
    """Return a message."""
    return "SendMessage", {"recipient": to, "content": content, **more}


def alone(check: Use) -> ScriptPart:
    """Return the part of a lead that works alone, and checks by this call."""
    return ScriptPart(
        (
            ScriptLine("I look at the code and its test.", (read("convert.py"), read("test_convert.py"))),
            ScriptLine("Zero degrees are 32 Fahrenheit, not 23.", (edit("convert.py", "+ 23", "+ 32"),), optional=True),
            ScriptLine("Does the test pass now?", (check,)),
            ScriptLine("fahrenheit() added 23 where it must add 32. The test passes now."),
            ScriptLine("The second of convert.py: the one that adds.", after=("Which line was it?",)),
        )
    )


def lead(gone: bool) -> ScriptPart:
    """Return the part of the lead; `gone`: whether the scout has left before it is asked to."""
    here = ("coder", "checker") if gone else ("scout", "coder", "checker")
    return ScriptPart(
        (
            ScriptLine(
                "The work first, then the people.",
                (
                    task("Say what is there", role="reader"),
                    task("Add kelvin", role="coder", blockedBy=[1]),
                    task("Test kelvin", role="tester", blockedBy=[2], verify="sh check.sh"),
                    teammate(
                        "coder",
                        "coder",
                        "Task 2 is yours. scout tells you what is there; then show me your plan.",
                        plan_mode_required=True,
                    ),
                ),
            ),
            # One by one: calls of one step may overlap, and the tutorial shows who joined first.
            ScriptLine(
                "Who looks.",
                (teammate("scout", "reader", "Do task 1. Tell coder what you found.", subagent_type="Explore"),),
            ),
            ScriptLine(
                "And who checks.",
                (teammate("checker", "tester", "Take task 3 as soon as it is free."),),
                then="The team is at work.",
            ),
            ScriptLine(
                "A small plan, and a good one.",
                (mail("coder", "Go ahead.", type="plan_approval_response", request_id=REQUEST, approve=True),),
                after=("plan_approval_request", PLAN),
                then="The plan stands.",
            ),
            ScriptLine(
                "Thank you, all of you.",
                tuple(mail(name, "It is done.", type="shutdown_request") for name in here),
                after=(CHECKED,),
                then="They are leaving.",
            ),
            ScriptLine("convert.py knows kelvin now; the checker tested it.", after=("coder left (", "checker left (")),
        )
    )


SCOUT = ScriptPart(
    (
        ScriptLine("I look.", (update(1, "in_progress"), read("convert.py"))),
        ScriptLine("And at its test.", (read("test_convert.py"),)),
        ScriptLine(
            "The coder should know.", (update(1, "completed"), mail("coder", FOUND)), then="That is all there is."
        ),
    )
)
CODER = ScriptPart(
    (
        # A planner that ends its turn without a plan and without a message is reminded.
        ScriptLine(
            "I cannot plan yet.",
            (mail("lead", "I plan once scout has told me what is there."),),
            then="I wait for scout.",
        ),
        ScriptLine("This is how.", (("ExitPlanMode", {"plan": PLAN}),), after=(FOUND,), then="The lead has my plan."),
        ScriptLine("I may begin.", (update(2, "in_progress"), read("convert.py")), after=('approve="yes"',)),
        ScriptLine("One more function.", (edit("convert.py", "+ 32\n", f"+ 32\n{KELVIN}"),)),
        ScriptLine("I try it.", (("bash", {"command": "python3 -B -c 'import convert; print(convert.kelvin(0))'"}),)),
        ScriptLine("It adds up.", (update(2, "completed"),), then="Kelvin is there."),
        ScriptLine(
            "The README is quickly done.",
            (("write_file", {"path": "README.md", "content": README}),),
            after=("Show kelvin in the README",),
        ),
        ScriptLine("Done.", (update(4, "completed"),), then="The README shows it."),
    )
)
CHECKER = ScriptPart(
    (
        ScriptLine("I read the tests while I wait.", (read("test_convert.py"),), then="I am ready."),
        ScriptLine(
            "Water freezes at 273.15.",
            (
                edit("test_convert.py", "import fahrenheit\n", "import fahrenheit, kelvin\n"),
                edit("test_convert.py", "(100), 212)\n", f"(100), 212)\n{TESTS}"),
            ),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("Done, if the check says so.", (update(3, "completed"),), then=CHECKED),
    ),
    replies=(
        ScriptLine(
            "The user wants one more.",
            (edit("test_convert.py", "(0), 273.15)\n", f"(0), 273.15)\n{ABSOLUTE_ZERO}"),),
            after=("absolute zero",),
        ),
    ),
)


def SCRIPT(asked: Asked) -> Say:  # noqa: N802, a script's name is a constant, whether it is a list or a function
    """Say what comes next for whoever asks."""
    everything = str(asked.prompt.passages)
    check: Use = ("check", {}) if "check" in asked.tools else ("bash", {"command": "sh check.sh"})
    first = lead("scout left (" in everything) if "as a team" in everything else alone(check)
    try:
        spoken = play({"lead": first, "scout": SCOUT, "coder": CODER, "checker": CHECKER}, asked.prompt)
    except ModelRejected as error:
        return Say(f"I only know the tutorial, word by word: {error}")
    return Say(spoken.text, [Called(tool, arguments) for tool, arguments in spoken.calls])
