"""Deskmate: an open runtime for teams of coding agents.

These are the public names. Each is imported when it is first used, so `import deskmate` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.core.log.records import Damaged, Record
    from deskmate.core.team.members import Joined, PolicySet
    from deskmate.core.team.messages import Broadcast, Envelope, Plain
    from deskmate.errors import Conflict, DeskmateError, Held, Refused, StoreError
    from deskmate.ports import Clock, Seat, Store
    from deskmate.runtime.departure import leave
    from deskmate.runtime.streams.board import Board
    from deskmate.runtime.streams.log_writer import LogWriter
    from deskmate.runtime.streams.mailbox import Mailbox
    from deskmate.runtime.streams.roster import Roster
    from deskmate.runtime.streams.transcript import Transcript
    from deskmate.runtime.system_clock import SystemClock
    from deskmate.stores.jsonl_store import JsonlStore
    from deskmate.stores.memory_store import MemoryStore

__all__ = [
    "Board",
    "Broadcast",
    "Clock",
    "Conflict",
    "Damaged",
    "DeskmateError",
    "Envelope",
    "Held",
    "Joined",
    "JsonlStore",
    "LogWriter",
    "Mailbox",
    "MemoryStore",
    "Plain",
    "PolicySet",
    "Record",
    "Refused",
    "Roster",
    "Seat",
    "Store",
    "StoreError",
    "SystemClock",
    "Transcript",
    "leave",
]

_WHERE = {
    "Joined": "core.team.members",
    "PolicySet": "core.team.members",
    "Broadcast": "core.team.messages",
    "Envelope": "core.team.messages",
    "Plain": "core.team.messages",
    "Damaged": "core.log.records",
    "Record": "core.log.records",
    "Conflict": "errors",
    "DeskmateError": "errors",
    "Held": "errors",
    "Refused": "errors",
    "StoreError": "errors",
    "Clock": "ports",
    "Seat": "ports",
    "Store": "ports",
    "Board": "runtime.streams.board",
    "SystemClock": "runtime.system_clock",
    "leave": "runtime.departure",
    "Mailbox": "runtime.streams.mailbox",
    "Roster": "runtime.streams.roster",
    "LogWriter": "runtime.streams.log_writer",
    "Transcript": "runtime.streams.transcript",
    "JsonlStore": "stores.jsonl_store",
    "MemoryStore": "stores.memory_store",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate' has no public name '{name}'")
    return getattr(import_module(f"deskmate.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
