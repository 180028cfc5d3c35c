"""Every error Deskmate raises on purpose.

An error has a message, which says what happened and names the value, and a hint, which says how to fix it. Faces print
the hint on its own line. `str(error)` is both. `Problem` is the same for what is reported without an exception.

    DeskmateError
    ├── BadInput                 the caller passed something malformed
    │   ├── BadName              a team, member or stream name
    │   └── BadRecord            something that cannot be stored
    │       └── TooLarge         above the cap of one record or one message
    ├── Refused                  a rule does not allow it
    │   ├── UnknownRecipient     nobody of that name is here, or they left
    │   └── TaskRefused          the board does not allow it
    ├── BadSettings              what the user configured cannot be used
    ├── ToolError                a mistake of the model, which reads this as the result of its call
    ├── ModelError               a model gave no answer
    │   ├── ModelTrouble         temporary: overload, a lost or silent connection; ask again
    │   │   └── Unreachable      no connection to its server could be made
    │   ├── PromptTooLong        more than fits in its window: make room, then ask again
    │   └── ModelRejected        permanent: a wrong key, an unknown model, an unsupported request
    │       └── PicturesRejected it cannot see pictures: leave them out, then ask again
    ├── RunStopped               a run of a program stopped before it was done
    │   └── NoResult             the lead ended without the result that the program asked for
    ├── PlayerFailed             the process that ran a member ended before the member left
    │   └── NoHostFits           no other machine can run it now
    └── StoreError               the streams themselves
        ├── Conflict             someone appended first: read, decide again
        ├── Held                 another process holds that seat
        │   ├── TeamRunning      another process runs that team
        │   └── SeatLost         it took the seat over while this one was cut off
        ├── StoreUnavailable     may or may not have been written: append the same record again
        ├── StoreCorrupt         a broken promise on disk: a person must look
        └── UnsafeFolder         a folder that cannot be trusted to keep streams
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# The `extra` of a logged warning that is also an event. Programs read it in the log, faces show the event instead.
ALSO_AN_EVENT: Mapping[str, object] = MappingProxyType({"also_an_event": True})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a person should know, that stops nothing. `hint`: how to fix it, or empty."""

    message: str
    hint: str = ""

    def __str__(self) -> str:
        return joined(self.message, self.hint)


def joined(message: str, hint: str) -> str:
    """Return a message and its hint as one text."""
    if not hint:
        return message
    return f"{message}{' ' if message.endswith(('.', '?', '!')) else '. '}{hint}"


class DeskmateError(Exception):
    """The base class of all errors of Deskmate.

    `message`: what happened, with the value. It does not end with a period, unless a model reads it too. `hint`: how to
    fix it, as a sentence or a command, or empty. `str(error)` is the message, then the hint.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(*((message, hint) if hint else (message,)))
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return joined(self.message, self.hint)

    def __reduce__(self) -> tuple[object, ...]:
        # Not by calling the class again, as exceptions do: a subclass may take other arguments.
        return _restored, (type(self), self.args, dict(self.__dict__))


class SystemProblem(OSError):
    """The operating system refused something, and we know how to fix that: `hint` says how."""

    def __init__(self, code: int, message: str, hint: str, filename: str | None = None) -> None:
        super().__init__(code, message, *([] if filename is None else [filename]))
        self.hint = hint


def hint_of(error: OSError) -> str:
    """Return how to fix this, or an empty text if we do not know."""
    return error.hint if isinstance(error, SystemProblem) else ""


def _restored(kind: type[DeskmateError], args: tuple[object, ...], fields: Mapping[str, object]) -> DeskmateError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class BadInput(DeskmateError, ValueError):
    """The caller passed something malformed."""


class BadName(BadInput):
    """A name that is not allowed here."""


class BadRecord(BadInput):
    """Something that cannot be stored as a record."""


class TooLarge(BadRecord):
    """A record or message above its cap."""


class Refused(DeskmateError):
    """A rule does not allow this. The message says which rule, the hint what to do instead.

    `roster`: the record of the roster that the text is based on, if it says who is on the team.
    """

    roster: int | None = None


class UnknownRecipient(Refused):
    """Nobody of that name can be written to."""


class TaskRefused(Refused):
    """The board does not allow this."""


class BadSettings(DeskmateError):
    """What the user configured cannot be used. The hint says where to change it."""


class ToolError(DeskmateError):
    """A mistake of the model, in words that help it do better."""


class ModelError(DeskmateError):
    """A model gave no answer."""


class ModelTrouble(ModelError):
    """A temporary problem on the way to a model. `retry_after`: how many seconds the provider asked to wait."""

    def __init__(self, message: str, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Unreachable(ModelTrouble):
    """No connection to a model's server could be made."""


class PromptTooLong(ModelError):
    """The prompt is larger than the model's window."""


class ModelRejected(ModelError):
    """The provider will not answer this request, however often it is sent."""


class PicturesRejected(ModelRejected):
    """The model cannot see pictures, and the prompt has some."""


class RunStopped(DeskmateError):
    """A run of a program stopped before it was done. `outcome`: what there is of it."""

    def __init__(self, message: str, outcome: object, hint: str = "") -> None:
        super().__init__(message, hint)
        self.outcome = outcome


class NoResult(RunStopped):
    """The lead ended without submitting the result that a program asked for."""


class PlayerFailed(DeskmateError):
    """The process that ran a member ended before the member left."""


class NoHostFits(PlayerFailed):
    """A member runs only on other machines, and none of them can run it now."""


class StoreError(DeskmateError):
    """The base class of errors about streams."""


class Conflict(StoreError):
    """Somebody else appended first. Read and decide again."""

    def __init__(self, stream: str, expect: int, last: int) -> None:
        super().__init__(f"{stream} is at record {last}, not {expect}", "Read the new records and decide again.")
        self.stream, self.expect, self.last = stream, expect, last


class Held(StoreError):
    """Another process holds that seat."""

    def __init__(self, seat: str, note: str) -> None:
        super().__init__(f"The seat '{seat}' is held by {note or 'another process'}", "Stop that process first.")
        self.seat, self.note = seat, note


class TeamRunning(Held):
    """Another process runs that team."""

    def __init__(self, team: str, note: str) -> None:
        super().__init__("lead", note)
        self.message = f"Team '{team}' is already running in {note or 'another process'}"
        self.hint = (
            f"To watch it and talk to it, run: deskmate attach {team}\n"
            f"From a script, write to it with: deskmate send lead TEXT --team {team}\n"
            "To run it here, stop that process first."
        )


class SeatLost(Held):
    """Another process took a seat over while this one was cut off from the store. This one must stop."""

    def __init__(self, seat: str, note: str) -> None:
        super().__init__(seat, note)
        self.message = f"The seat '{seat}' was taken over by {note or 'another process'} while this process was cut off"
        self.hint = "Work goes on there. Nothing more is written from here."


class StoreUnavailable(StoreError):
    """The store did not answer. The operation may or may not have happened."""

    @classmethod
    def of(cls, place: object, error: OSError) -> "StoreUnavailable":
        """Return the error for a file or folder that the operating system refused."""
        hint = hint_of(error) or "Fix that, then try again."
        return cls(f"Cannot use {place}: {error.strerror or error}", hint)


class StoreCorrupt(StoreError):
    """A broken promise on disk. Nothing can continue from here."""


class UnsafeFolder(StoreError):
    """A folder that cannot be trusted to keep streams."""
