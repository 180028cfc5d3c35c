"""Every error Deskmate raises on purpose.

Each text names the thing, what was expected, and the next step. A face may print it as it is.

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
    ├── PlayerFailed             the process that ran a member ended before the member left
    └── StoreError               the streams themselves
        ├── Conflict             someone appended first: read, decide again
        ├── Held                 another process holds that seat
        ├── StoreUnavailable     may or may not have been written: append the same record again
        ├── StoreCorrupt         a broken promise on disk: a person must look
        └── UnsafeFolder         a folder that cannot be trusted to keep streams
"""


class DeskmateError(Exception):
    """The base class of all errors of Deskmate."""


class BadInput(DeskmateError, ValueError):
    """The caller passed something malformed."""


class BadName(BadInput):
    """A name that is not allowed here."""


class BadRecord(BadInput):
    """Something that cannot be stored as a record."""


class TooLarge(BadRecord):
    """A record or message above its cap."""


class Refused(DeskmateError):
    """A rule does not allow this. The text says which rule, and what to do instead.

    `roster`: the record of the roster that the text is based on, if it says who is on the team.
    """

    roster: int | None = None


class UnknownRecipient(Refused):
    """Nobody of that name can be written to."""


class TaskRefused(Refused):
    """The board does not allow this."""


class BadSettings(DeskmateError):
    """What the user configured cannot be used. The text says where to change it."""


class ToolError(DeskmateError):
    """A mistake of the model, in words that help it do better."""


class ModelError(DeskmateError):
    """A model gave no answer."""


class ModelTrouble(ModelError):
    """A temporary problem on the way to a model. `retry_after`: how many seconds the provider asked to wait."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Unreachable(ModelTrouble):
    """No connection to a model's server could be made."""


class PromptTooLong(ModelError):
    """The prompt is larger than the model's window."""


class ModelRejected(ModelError):
    """The provider will not answer this request, however often it is sent."""


class PlayerFailed(DeskmateError):
    """The process that ran a member ended before the member left."""


class StoreError(DeskmateError):
    """The base class of errors about streams."""


class Conflict(StoreError):
    """Somebody else appended first. Read and decide again."""

    def __init__(self, stream: str, expect: int, last: int) -> None:
        super().__init__(f"{stream} is at record {last}, not {expect}; read what is new and decide again")
        self.stream, self.expect, self.last = stream, expect, last


class Held(StoreError):
    """Another process holds that seat."""

    def __init__(self, seat: str, note: str) -> None:
        super().__init__(f"the seat '{seat}' is held by {note or 'someone'}; stop that holder first")
        self.seat, self.note = seat, note


class StoreUnavailable(StoreError):
    """The store did not answer. The operation may or may not have happened."""


class StoreCorrupt(StoreError):
    """A broken promise on disk. Nothing can continue from here."""


class UnsafeFolder(StoreError):
    """A folder that cannot be trusted to keep streams."""
