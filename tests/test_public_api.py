"""The public names are pinned: adding or removing one is a decision, not an accident."""

import subprocess
import sys

import deskmate

NAMES = """
Board Broadcast Clock Conflict Damaged DeskmateError Envelope Held Joined JsonlStore Mailbox MemoryStore Pen Plain
PolicySet Record Refused Roster Seat Store StoreError SystemClock Transcript leave
"""


def test_the_public_names_are_these() -> None:
    assert sorted(deskmate.__all__) == sorted(NAMES.split())
    assert dir(deskmate) == deskmate.__all__


def test_every_public_name_can_be_imported() -> None:
    for name in deskmate.__all__:
        assert getattr(deskmate, name).__name__ == name


def test_importing_the_package_imports_nothing_else_of_ours_or_others() -> None:
    words = (
        "import sys, deskmate; print(*(n for n in sys.modules if n.split('.')[0] in ('deskmate', 'pydantic', 'anyio')))"
    )
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["deskmate"]
