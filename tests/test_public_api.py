"""The public names are pinned: adding or removing one is a decision, not an accident."""

import subprocess
import sys

import deskmate
from deskmate import testing

NAMES = """
Answer BadInput BadSettings CallBlock CallDelta Delta DeskmateError Event JsonlStore MailArrived MemoryStore Mode
Model ModelError ModelLimits ModelRejected ModelTrouble NewTask NoResult Outcome Prompt Question QuestionAsked Refused
Reply Result RunStopped Session Settings StatusChanged Store StoreError TaskUpdated Team Teammate TeammateJoined
TextBlock TextDelta TextFinished TextStreamed ThinkingDelta ThinkingStreamed Told Tool ToolCalled ToolContext
ToolError ToolReturned TurnEnded Usage load_settings run run_sync tool
"""
TESTING = "Asked FakeClock FakeProvider LiteralAgent Say Scenario ScriptedModel Stuck TeamRun Use"


def test_the_public_names_are_these() -> None:
    assert sorted(deskmate.__all__) == sorted(NAMES.split())
    assert dir(deskmate) == deskmate.__all__


def test_every_public_name_can_be_imported() -> None:
    unions = {"Answer", "Delta", "Event"}
    for name in deskmate.__all__:
        assert name in unions or getattr(deskmate, name).__name__ == name


def test_importing_the_package_imports_nothing_else_of_ours_or_others() -> None:
    words = (
        "import sys, deskmate; print(*(n for n in sys.modules if n.split('.')[0] in ('deskmate', 'pydantic', 'anyio')))"
    )
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["deskmate"]


def test_the_names_for_tests_are_these_and_can_be_imported() -> None:
    assert testing.__all__ == TESTING.split()
    assert [getattr(testing, name).__name__ for name in testing.__all__] == testing.__all__
