"""The model of docs/tutorial.md: everything its agents say, so that you can follow it without a key.

    python -m deskmate.testing.fake_provider --script examples/tutorial_script.py:SCRIPT

Each part depends only on its conversation. So it continues where it was, even after `kill -9`.
"""

from deskmate.demo.demo_parts import REQUEST, ScriptLine, ScriptPart, play
from deskmate.errors import ModelRejected
from deskmate.testing import Asked, Say, Use

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
PLAN = "1. Add kelvin(celsius) below fahrenheit. 2. Try it once. The checker writes the tests."
FOUND = "convert.py has one function, fahrenheit, with one test in unittest. Nothing else imports it."
CHECKED = "Both scales are tested, and the check passes."


def edit(path: str, old: str, new: str) -> Use:
    """Return a call that changes a file."""
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new})


def read(path: str) -> Use:
    """Return a call that reads a file."""
    return Use("read_file", {"path": path})


def task(subject: str, **more: object) -> Use:
    """Return a call that creates a task."""
    return Use("TaskCreate", {"subject": subject, **more})


def teammate(name: str, role: str, prompt: str, **more: object) -> Use:
    """Return a call that creates a teammate."""
    return Use("Task", {"name": name, "role": role, "prompt": prompt, **more})


def update(number: int, status: str) -> Use:
    """Return a call that claims or completes a task."""
    return Use("TaskUpdate", {"taskId": number, "status": status})


def mail(to: str, content: str, **more: object) -> Use:
    """Return a call that sends a message."""
    return Use("SendMessage", {"recipient": to, "content": content, **more})


def alone(check: Use) -> ScriptPart:
    """Return the part of a lead that works alone and checks its work with this call."""
    return ScriptPart(
        (
            ScriptLine("I will read the code and its test.", (read("convert.py"), read("test_convert.py"))),
            ScriptLine("0 °C is 32 °F, not 23 °F.", (edit("convert.py", "+ 23", "+ 32"),), optional=True),
            ScriptLine("Does the test pass now?", (check,)),
            ScriptLine("fahrenheit() added 23 instead of 32. The test passes now."),
            ScriptLine("Line 2 of convert.py, the one that adds 32.", after=("Which line was it?",)),
        )
    )


def lead(gone: bool) -> ScriptPart:
    """Return the part of the lead. `gone`: the scout has already left."""
    here = ("coder", "checker") if gone else ("scout", "coder", "checker")
    return ScriptPart(
        (
            ScriptLine(
                "Tasks first, then teammates.",
                (
                    task("Describe the code", role="reader"),
                    task("Add kelvin", role="coder", blockedBy=[1]),
                    task("Test kelvin", role="tester", blockedBy=[2], verify="sh check.sh"),
                    teammate(
                        "coder",
                        "coder",
                        "Task 2 is yours. scout will tell you what it found. Then show me your plan.",
                        plan_mode_required=True,
                    ),
                ),
            ),
            # One by one: calls of one step may overlap, and the tutorial shows who joined first.
            ScriptLine(
                "Now the reader.",
                (teammate("scout", "reader", "Do task 1. Tell coder what you found.", subagent_type="Explore"),),
            ),
            ScriptLine(
                "And the tester.",
                (teammate("checker", "tester", "Take task 3 as soon as it is free."),),
                then="The team is working.",
            ),
            ScriptLine(
                "The plan is small and clear.",
                (mail("coder", "Go ahead.", type="plan_approval_response", request_id=REQUEST, approve=True),),
                after=("plan_approval_request", PLAN),
                then="The plan is approved.",
            ),
            ScriptLine(
                "Thank you, everyone.",
                tuple(mail(name, "We are done.", type="shutdown_request") for name in here),
                after=(CHECKED,),
                then="They are leaving.",
            ),
            ScriptLine(
                "convert.py has kelvin() now, and the checker tested it.", after=("coder left (", "checker left (")
            ),
        )
    )


SCOUT = ScriptPart(
    (
        ScriptLine("I will read the code.", (update(1, "in_progress"), read("convert.py"))),
        ScriptLine("Now its test.", (read("test_convert.py"),)),
        ScriptLine("I will tell coder.", (update(1, "completed"), mail("coder", FOUND)), then="That is all."),
    )
)
CODER = ScriptPart(
    (
        # A planner that ends its turn without a plan and without a message is reminded.
        ScriptLine(
            "I cannot plan yet.",
            (mail("lead", "I will plan when scout has told me what it found."),),
            then="I am waiting for scout.",
        ),
        ScriptLine(
            "This is my plan.", (Use("ExitPlanMode", {"plan": PLAN}),), after=(FOUND,), then="The lead has my plan."
        ),
        ScriptLine("My plan is approved.", (update(2, "in_progress"), read("convert.py")), after=('approve="yes"',)),
        ScriptLine("I will add the function.", (edit("convert.py", "+ 32\n", f"+ 32\n{KELVIN}"),)),
        ScriptLine(
            "I will try it.", (Use("bash", {"command": "python3 -B -c 'import convert; print(convert.kelvin(0))'"}),)
        ),
        ScriptLine("It works.", (update(2, "completed"),), then="kelvin() is done."),
        ScriptLine(
            "I will write the README.",
            (Use("write_file", {"path": "README.md", "content": README}),),
            after=("Show kelvin in the README",),
        ),
        ScriptLine("Done.", (update(4, "completed"),), then="The README shows it."),
    )
)
CHECKER = ScriptPart(
    (
        ScriptLine("I will read the tests while I wait.", (read("test_convert.py"),), then="I am ready."),
        ScriptLine(
            "Water freezes at 273.15 K.",
            (
                edit("test_convert.py", "import fahrenheit\n", "import fahrenheit, kelvin\n"),
                edit("test_convert.py", "(100), 212)\n", f"(100), 212)\n{TESTS}"),
            ),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("Done, if the check passes.", (update(3, "completed"),), then=CHECKED),
    ),
    replies=(
        ScriptLine(
            "The user wants one more test.",
            (edit("test_convert.py", "(0), 273.15)\n", f"(0), 273.15)\n{ABSOLUTE_ZERO}"),),
            after=("absolute zero",),
        ),
    ),
)


def SCRIPT(asked: Asked) -> Say:  # noqa: N802, a script's name is a constant, whether it is a list or a function
    """Return what the agent that asks says next."""
    everything = str(asked.prompt.passages)
    check = Use("check") if "check" in asked.tools else Use("bash", {"command": "sh check.sh"})
    first = lead("scout left (" in everything) if "as a team" in everything else alone(check)
    try:
        return play({"lead": first, "scout": SCOUT, "coder": CODER, "checker": CHECKER}, asked.prompt)
    except ModelRejected as error:
        return Say(f"I know only the words of the tutorial: {error}")
