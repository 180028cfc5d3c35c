"""A script that plays the model in docs/tutorial.md, so that you can follow it without a key.

    python -m deskmate.testing.fake_provider --script examples/tutorial_script.py:SCRIPT

What an agent says next depends only on its conversation, so it continues correctly, even after `kill -9`.
"""

from deskmate.demo.demo_parts import REQUEST, ScriptLine, ScriptPart, play, speaker
from deskmate.errors import ModelRejected
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import (
    add_task,
    answer_plan,
    ask_to_stop,
    claim_task,
    complete_task,
    edit_file,
    present_plan,
    read_file,
    run_command,
    send_mail,
    spawn,
    write_file,
)

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
# The script knows what to say to these goals, and to no others.
GOALS = ("make the tests pass", "as a team")
UNKNOWN_GOAL = (
    "I am the scripted model of the tutorial, and I know only its goals. "
    'For a script of your own, see docs/how-to/python.md, "Try it without a model".'
)
CHECKED = "Both scales are tested, and the check passes."


def alone(check: Use) -> ScriptPart:
    """Return the part of a lead that works alone and checks its work with this call."""
    return ScriptPart(
        (
            ScriptLine("I will read the code and its test.", (read_file("convert.py"), read_file("test_convert.py"))),
            ScriptLine("0 °C is 32 °F, not 23 °F.", (edit_file("convert.py", "+ 23", "+ 32"),), optional=True),
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
                    add_task("Describe the code", role="reader"),
                    add_task("Add kelvin", role="coder", blockedBy=[1]),
                    add_task("Test kelvin", role="tester", blockedBy=[2], verify="sh check.sh"),
                    spawn(
                        "coder",
                        role="coder",
                        prompt="Task 2 is yours. scout will tell you what it found. Then show me your plan.",
                        plan_mode_required=True,
                    ),
                ),
            ),
            # One by one: calls of one step may overlap, and the tutorial shows who joined first.
            ScriptLine(
                "Now the reader.",
                (
                    spawn(
                        "scout", role="reader", prompt="Do task 1. Tell coder what you found.", subagent_type="Explore"
                    ),
                ),
            ),
            ScriptLine(
                "And the tester.",
                (spawn("checker", role="tester", prompt="Take task 3 as soon as it is free."),),
                then="The team is working.",
            ),
            ScriptLine(
                "The plan is small and clear.",
                (answer_plan("coder", REQUEST, content="Go ahead."),),
                after=("plan_approval_request", PLAN),
                then="The plan is approved.",
            ),
            ScriptLine(
                "Thank you, everyone.",
                tuple(ask_to_stop(name, "We are done.") for name in here),
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
        ScriptLine("I will read the code.", (claim_task(1), read_file("convert.py"))),
        ScriptLine("Now its test.", (read_file("test_convert.py"),)),
        ScriptLine("I will tell coder.", (complete_task(1), send_mail("coder", FOUND)), then="That is all."),
    )
)
CODER = ScriptPart(
    (
        # A planner that ends its turn without a plan and without a message is reminded.
        ScriptLine(
            "I cannot plan yet.",
            (send_mail("lead", "I will plan when scout has told me what it found."),),
            then="I am waiting for scout.",
        ),
        ScriptLine("This is my plan.", (present_plan(PLAN),), after=(FOUND,), then="The lead has my plan."),
        ScriptLine("My plan is approved.", (claim_task(2), read_file("convert.py")), after=('approve="yes"',)),
        ScriptLine("I will add the function.", (edit_file("convert.py", "+ 32\n", f"+ 32\n{KELVIN}"),)),
        ScriptLine("I will try it.", (run_command("python3 -B -c 'import convert; print(convert.kelvin(0))'"),)),
        ScriptLine("It works.", (complete_task(2),), then="kelvin() is done."),
        ScriptLine(
            "I will write the README.",
            (write_file("README.md", README),),
            after=("Show kelvin in the README",),
        ),
        ScriptLine("Done.", (complete_task(4),), then="The README shows it."),
    )
)
CHECKER = ScriptPart(
    (
        ScriptLine("I will read the tests while I wait.", (read_file("test_convert.py"),), then="I am ready."),
        ScriptLine(
            "Water freezes at 273.15 K.",
            (
                edit_file("test_convert.py", "import fahrenheit\n", "import fahrenheit, kelvin\n"),
                edit_file("test_convert.py", "(100), 212)\n", f"(100), 212)\n{TESTS}"),
            ),
            after=("Task #3 is yours now",),
        ),
        ScriptLine("Done, if the check passes.", (complete_task(3),), then=CHECKED),
    ),
    replies=(
        ScriptLine(
            "The user wants one more test.",
            (edit_file("test_convert.py", "(0), 273.15)\n", f"(0), 273.15)\n{ABSOLUTE_ZERO}"),),
            after=("absolute zero",),
        ),
    ),
)


def SCRIPT(asked: Asked) -> Say:  # noqa: N802, a script's name is a constant, whether it is a list or a function
    """Return what the agent that asks says next."""
    everything = str(asked.prompt.passages)
    check = Use("check") if "check" in asked.tools else run_command("sh check.sh")
    if speaker(asked.prompt) == "lead" and not (check.tool == "check" or any(goal in everything for goal in GOALS)):
        return Say(UNKNOWN_GOAL)
    first = lead("scout left (" in everything) if "as a team" in everything else alone(check)
    try:
        return play({"lead": first, "scout": SCOUT, "coder": CODER, "checker": CHECKER}, asked.prompt)
    except ModelRejected as error:
        return Say(f"I know only the words of the tutorial: {error}")
