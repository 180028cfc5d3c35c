"""For your tests and ours: fakes that stand at the seams, suites that state what a seam promises, and checkers.

clocks           FakeClock: time as a test input
fake_provider    FakeProvider: a provider on this machine, in both wire formats
scripts          what it says: Say, Use, and what it was Asked
faults           what goes wrong on its wire
http_server      the server under it
anthropic_wire   Anthropic's format: requests read, answers written
anthropic_rules  what that format asks of a conversation
openai_wire      the format of chat completions
openai_rules     what that one asks
shapes           what both ask
conversations    what is wrong with a conversation that a provider is sent
literal          LiteralAgent: a model that knows nothing but its prompt
literal_reading  what it reads in a prompt
literal_requests what it understands of requests and tasks
knowledge        what a model must be told, checked at each call
truth            what the logs say then
team_logs        the same, from files
prompt_parts     which words of a prompt are ours
team_facts       what is told of the team
told_facts       whether what is told is so
told_phrases     the phrases by which it is told
scripted         ScriptedModel: says what it is told to, and checks what it was told
caches           what a provider's cache would have read
disks            files that forget at a power loss whatever was not synced
history          what concurrent processes did, and whether any order explains it
kills            processes killed at random while they send, hear and claim, and the count of what was lost
store_contract   what every store promises, sentence by sentence

Each name below is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.models.scripted import Speak
    from deskmate.testing.checked_model import ScriptedModel
    from deskmate.testing.fake_clock import FakeClock
    from deskmate.testing.fake_provider import FakeProvider
    from deskmate.testing.literal.literal_agent import LiteralAgent, Stuck
    from deskmate.testing.scripts import Asked, Say, Use

__all__ = ["Asked", "FakeClock", "FakeProvider", "LiteralAgent", "Say", "ScriptedModel", "Speak", "Stuck", "Use"]

_WHERE = {
    "Asked": "deskmate.testing.scripts",
    "FakeClock": "deskmate.testing.fake_clock",
    "FakeProvider": "deskmate.testing.fake_provider",
    "LiteralAgent": "deskmate.testing.literal.literal_agent",
    "Say": "deskmate.testing.scripts",
    "ScriptedModel": "deskmate.testing.checked_model",
    "Speak": "deskmate.models.scripted",
    "Stuck": "deskmate.testing.literal.literal_agent",
    "Use": "deskmate.testing.scripts",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate.testing' has no attribute '{name}'")
    return getattr(import_module(_WHERE[name]), name)
