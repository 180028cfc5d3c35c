"""Record what concurrent processes did to a team, and check afterwards that nothing impossible happened.

Above: tests that start, pause and kill real processes. Below: the standard library alone, because a checker that
shares code with the product shares its mistakes.

A process records an `invoke` before each operation and `ok` or `fail` after it. An operation with neither (its
process was killed, or noted `info`) is in doubt: it took effect at some time after its invoke, or never.

    action     key         value of invoke         of ok   of fail
    claim      task        owner                   epoch   the owner seen, or null: it was not free
    release    task        [owner, epoch]          any     any
    complete   task        [owner, epoch]          any     any
    send       recipient   [sender, ordinal, id]   any     any

A task is a register: free, owned or done, with an epoch that grows by one at each claim and release. The search for
an order of its operations is Wing and Gong's, breadth first: walk calls and returns in time order and keep each
configuration (state, pending operations already placed) that explains them so far. Equal configurations merge, so
wherever nothing is under way only the possible states are left to carry on.
"""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
Kind: TypeAlias = Literal["invoke", "ok", "fail", "info"]
Sent: TypeAlias = tuple[str, int, str, str]  # sender, ordinal, message id, recipient
Heard: TypeAlias = tuple[str, str, int]  # message id, sender, ordinal

SEARCH_LIMIT = 20_000  # configurations visited to explain one return
OPERATIONS_SHOWN = 20
EXAMPLES_SHOWN = 10


class MalformedHistory(ValueError):
    """The history cannot be checked: it is not what recorders write."""


@dataclass(frozen=True, slots=True)
class Event:
    """One end of an operation; `at` is in nanoseconds of the monotonic clock, which a machine's processes share."""

    process: str
    op: int
    kind: Kind
    action: str
    key: str
    value: Json
    at: int

    def line(self) -> bytes:
        """Return the event as one line of ASCII JSON, newline included."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(fields, allow_nan=False).encode() + b"\n"


def load(paths: Iterable[str | os.PathLike[str]]) -> list[Event]:
    """Return the events of all files in time order.

    A last line without its newline is an event that did not happen; other damage raises MalformedHistory.
    """
    return _in_time_order(event for path in paths for event in _read(Path(path)))


def _read(path: Path) -> Iterator[Event]:
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            yield _parse(json.loads(line))
        except ValueError as error:
            raise MalformedHistory(f"{path}, line {number} is no event: {line[:200]!r}") from error


def _parse(fields: object) -> Event:
    match fields:
        case {
            "process": str(process),
            "op": int(op),
            "kind": "invoke" | "ok" | "fail" | "info" as kind,
            "action": str(action),
            "key": str(key),
            "value": value,
            "at": int(at),
        }:
            return Event(process, op, kind, action, key, value, at)
    raise ValueError("a field is missing or of another type")


def _in_time_order(events: Iterable[Event]) -> list[Event]:
    # An invoke goes first among equal stamps: what cannot be told apart counts as concurrent.
    return sorted(events, key=lambda event: (event.at, event.kind != "invoke"))


class Recorder:
    """Write the events of one process to a file of its own, each by a single append.

    A process started again under its name opens the same file: a torn last line is cut off, numbers go on, and
    `in_doubt` holds the invokes left open by number. Carry one out again as the same operation and settle it
    under its old number: it counts once, from its first invoke on.
    """

    def __init__(self, path: str | os.PathLike[str], process: str) -> None:
        self._process = process
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        earlier = load([path])
        if others := {event.process for event in earlier} - {process}:
            os.close(self._file)
            raise MalformedHistory(f"{path} has events of {sorted(others)}; give {process!r} a file of its own")
        os.truncate(self._file, Path(path).read_bytes().rfind(b"\n") + 1)
        self._last = max((event.op for event in earlier), default=0)
        self.in_doubt = {call.op: call for call, outcome in _pairs(earlier) if outcome is None}

    def invoke(self, action: str, key: str, value: Json = None) -> int:
        """Record that an operation is about to begin; return its number."""
        self._last += 1
        call = Event(self._process, self._last, "invoke", action, key, value, time.monotonic_ns())
        self._write(call)
        self.in_doubt[call.op] = call
        return call.op

    def ok(self, op: int, value: Json = None) -> None:
        """Record that the operation took effect, and what it returned."""
        self._settle(op, "ok", value)
        del self.in_doubt[op]

    def fail(self, op: int, value: Json = None) -> None:
        """Record that the operation was refused and will never take effect."""
        self._settle(op, "fail", value)
        del self.in_doubt[op]

    def info(self, op: int, value: Json = None) -> None:
        """Note something about an operation that stays in doubt, such as the error it ended with."""
        self._settle(op, "info", value)

    def close(self) -> None:
        """Close the file; whatever is still open stays in doubt."""
        os.close(self._file)

    def _settle(self, op: int, kind: Kind, value: Json) -> None:
        at, call = time.monotonic_ns(), self.in_doubt[op]
        self._write(Event(self._process, op, kind, call.action, call.key, value, at))

    def _write(self, event: Event) -> None:
        line = event.line()
        if (written := os.write(self._file, line)) != len(line):
            raise OSError(f"only {written} of {len(line)} bytes of {event} were written; free some disk space")


def _pairs(events: Iterable[Event]) -> list[tuple[Event, Event | None]]:
    """Return each invoke with its ok or fail (None: in doubt); raise MalformedHistory on an event out of place."""
    pairs: dict[tuple[str, int], tuple[Event, Event | None]] = {}
    for event in _in_time_order(events):
        number = event.process, event.op
        call, outcome = pairs.get(number, (None, None))
        if event.kind == "invoke" and call is None:
            pairs[number] = event, None
        elif event.kind == "invoke" or call is None or outcome is not None:
            raise MalformedHistory(f"{event} is out of place; expected one invoke, then at most one ok or fail")
        elif (event.action, event.key) != (call.action, call.key):
            raise MalformedHistory(f"{event} does not answer {call}; expected the same action and key")
        elif event.kind != "info":
            pairs[number] = call, event
    return list(pairs.values())


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with one task; `prefix` lists its operations up to the first return that nothing explains.

    Kinds: double-claim, after-done, stale-epoch, not-owner, wrong-refusal, impossible (none of these);
    undecided (the search met its limit) and empty (nothing was checked).
    """

    key: str
    kind: str
    message: str
    prefix: tuple[str, ...] = ()

    def __str__(self) -> str:
        hidden = len(self.prefix) - OPERATIONS_SHOWN
        head = [f"({hidden} earlier operations)"] if hidden > 0 else []
        return "\n  ".join([self.message, *head, *self.prefix[-OPERATIONS_SHOWN:]])


class _State(NamedTuple):
    phase: Literal["free", "owned", "done"]
    owner: str | None
    epoch: int


_Configuration: TypeAlias = tuple[_State, int]  # the number has a bit for each pending operation already placed


@dataclass(frozen=True, slots=True)
class _Operation:
    call: Event
    outcome: Event | None
    owner: str
    epoch: int = 0  # of a claim: the one it returned, if it did
    seen: str | None = None

    @property
    def refused(self) -> bool:
        return self.outcome is not None and self.outcome.kind == "fail"

    def effect(self, state: _State) -> _State | None:
        """Return the state it leads to, None where it cannot take effect."""
        if self.call.action == "claim":
            fits = state.phase == "free" and (self.outcome is None or self.epoch == state.epoch + 1)
            return _State("owned", self.owner, state.epoch + 1) if fits else None
        if state != ("owned", self.owner, self.epoch):
            return None
        released = self.call.action == "release"
        return _State("free", None, self.epoch + 1) if released else state._replace(phase="done")

    def refusable(self, state: _State) -> bool:
        """Tell whether `state` is a reason to refuse it in the words it was refused with."""
        if self.call.action == "claim":
            return state.phase != "free" and self.seen in (None, state.owner)
        return state != ("owned", self.owner, self.epoch)

    def __str__(self) -> str:
        return f"{self.owner!r} {self.call.action.removesuffix('e')}ed it at epoch {self.epoch}".replace("med it", "med it")

    def row(self, start: int) -> str:
        """Return one line that says when, who, what and what came of it."""
        end, result = "", "in doubt"
        if self.outcome:
            end, result = f"+{self.outcome.at - start}", f"{self.outcome.kind} {json.dumps(self.outcome.value)}"
        call = f"{self.call.process}#{self.call.op} {self.call.action} {json.dumps(self.call.value)}"
        return f"+{self.call.at - start}..{end} ns {call}: {result}"


def _operation(call: Event, outcome: Event | None) -> _Operation:
    match call.action, call.value, outcome and outcome.kind, outcome and outcome.value:
        case "claim", str(owner), None, _:
            return _Operation(call, outcome, owner)
        case "claim", str(owner), "ok", int(epoch):
            return _Operation(call, outcome, owner, epoch)
        case "claim", str(owner), "fail", str() | None as seen:
            return _Operation(call, outcome, owner, seen=seen)
        case "release" | "complete", [str(owner), int(epoch)], _, _:
            return _Operation(call, outcome, owner, epoch)
    raise MalformedHistory(f"{call} and {outcome} hold no values of a known action; see the table of this module")


def check_claims(events: Iterable[Event]) -> list[Violation]:
    """Return the first violation of each task; none means that all operations of every task can be explained.

    Sends are left out. A history without a single known outcome is a violation of its own: it proves nothing.
    """
    tasks: defaultdict[str, list[_Operation]] = defaultdict(list)
    for call, outcome in _pairs(events):
        if call.action != "send":
            tasks[call.key].append(_operation(call, outcome))
    if not any(op.outcome for ops in tasks.values() for op in ops):
        return [Violation("", "empty", "no claim, release or complete has a known outcome; nothing was checked")]
    return [violation for key, ops in tasks.items() if (violation := _check_task(key, ops))]


def _check_task(key: str, ops: Sequence[_Operation]) -> Violation | None:
    calls = [(op.call.at, False, index) for index, op in enumerate(ops)]
    returns = [(op.outcome.at, True, index) for index, op in enumerate(ops) if op.outcome]
    configurations: set[_Configuration] | None = {(_State("free", None, 0), 0)}
    pending: dict[int, _Operation] = {}
    for at, returned, index in sorted(calls + returns):
        if not returned:
            pending[index] = ops[index]
            continue
        configurations = _explain(configurations, index, pending)
        if not configurations:
            begun = [op for op in ops if op.call.at <= at]
            kind, words = _undecided(begun) if configurations is None else _reason(begun, ops[index])
            return Violation(key, kind, f"task {key}: {words}", tuple(op.row(ops[0].call.at) for op in begun))
        del pending[index]
    return None
