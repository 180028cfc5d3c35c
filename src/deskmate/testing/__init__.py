"""For your tests and ours: fakes, contract suites and checkers.

fake_clock       FakeClock: time as a test input
checked_model    ScriptedModel: says what a script tells it, and checks what it was told
scenario         Scenario: a whole team whose models follow scripts
team_scripts     what such scripts are made of
team_run         TeamRun: what the team did
fake_provider    FakeProvider: a provider on this machine, in all wire formats
scripts          what it was Asked, and the scripts that answer
provider_faults  what goes wrong on its wire
http_server      the server under it
formats          all wire formats, read and checked strictly
literal          LiteralAgent: a model that knows nothing but its prompt
servers          servers for tests of stores
knowledge        what a model must be told, checked at every call
store_contract   what every store promises
run_history      what concurrent processes did, and whether any order explains it
kill_runs        processes killed at random, and the count of what was lost
fake_disk        files that lose what was not synced at a power loss

Each name below is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.models.scripted import Say, Use
    from deskmate.testing.checked_model import ScriptedModel
    from deskmate.testing.fake_clock import FakeClock
    from deskmate.testing.fake_provider import FakeProvider
    from deskmate.testing.literal.literal_agent import LiteralAgent, Stuck
    from deskmate.testing.scenario import Scenario
    from deskmate.testing.scripts import Asked
    from deskmate.testing.team_run import TeamRun

__all__ = [
    "Asked",
    "FakeClock",
    "FakeProvider",
    "LiteralAgent",
    "Say",
    "Scenario",
    "ScriptedModel",
    "Stuck",
    "TeamRun",
    "Use",
]

_WHERE = {
    "Asked": "deskmate.testing.scripts",
    "FakeClock": "deskmate.testing.fake_clock",
    "FakeProvider": "deskmate.testing.fake_provider",
    "LiteralAgent": "deskmate.testing.literal.literal_agent",
    "Say": "deskmate.models.scripted",
    "Scenario": "deskmate.testing.scenario",
    "ScriptedModel": "deskmate.testing.checked_model",
    "Stuck": "deskmate.testing.literal.literal_agent",
    "TeamRun": "deskmate.testing.team_run",
    "Use": "deskmate.models.scripted",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate.testing' has no attribute '{name}'")
    return getattr(import_module(_WHERE[name]), name)
