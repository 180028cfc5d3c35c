"""What concurrent processes did, and whether any order explains it.

This uses only the standard library: a checker that shares code with the product shares its mistakes.

A process records an `invoke` before each operation and `ok` or `fail` after it. An operation with neither
(its process was killed, or it recorded `info`) is in doubt: it took effect at any time after its invoke, or never.

    action     key         value of invoke         of ok   of fail
    claim      task        owner                   epoch   the owner seen, or null: it was not free
    release    task        [owner, epoch]          any     any
    complete   task        [owner, epoch]          any     any
    send       recipient   [sender, ordinal, id]   any     any

A task is a register: free, owned or done, with an epoch that grows by one at each claim and release. The
search for an order of its operations is Wing and Gong's, breadth first: walk calls and returns in time order
and keep each configuration (state, pending operations already placed) that explains them so far. Equal
configurations merge, so when no operation is pending, only the possible states are left.
"""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Kind: TypeAlias = Literal["invoke", "ok", "fail", "info"]
Sent: TypeAlias = tuple[str, int, str, str]  # sender, ordinal, message id, recipient
Heard: TypeAlias = tuple[str, str, int]  # message id, sender, ordinal

SEARCH_LIMIT = 20_000  # configurations visited to explain one return
EVENTS_SHOWN = 20
EXAMPLES_SHOWN = 10
UNDECIDED = "undecided", "its operations allow too many orders; let fewer of them end in doubt"
CLAIMED_AGAINST = {"claim": "double-claim", "release": "impossible", "complete": "after-done"}
DEEDS = {"claim": "claimed", "release": "released", "complete": "completed"}


class MalformedHistory(ValueError):
    """The history cannot be checked: recorders do not write this."""


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """The start or end of an operation, in nanoseconds of the monotonic clock that all processes share."""

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


def load(paths: Iterable[str | os.PathLike[str]]) -> list[HistoryEvent]:
    """Return the events of all files in time order.

    A last line without a newline counts as not written. Other damage raises MalformedHistory.
    """
    return _in_time_order(event for path in paths for event in _read(Path(path)))


def _read(path: Path) -> Iterator[HistoryEvent]:
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            event = HistoryEvent(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise MalformedHistory(f"{path}, line {number} is no event: {line[:200]!r}") from error
        if event.kind not in get_args(Kind):
            raise MalformedHistory(f"{path}, line {number} is of no known kind: {event}")
        yield event


def _in_time_order(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    # For equal timestamps the invoke goes first: events that cannot be ordered count as concurrent.
    return sorted(events, key=lambda event: (event.at, event.kind != "invoke"))


class Recorder:
    """Write the events of one process to its own file, each with a single append.

    A restarted process with the same name opens the same file. A torn last line is cut off, numbers continue,
    and `in_doubt` has the open invokes by number. Repeat one as the same operation and settle it under its old
    number: it counts once, from its first invoke on.
    """

    def __init__(self, path: str | os.PathLike[str], process: str) -> None:
        Path(path).touch(mode=0o600)
        earlier = load([path])
        if others := {event.process for event in earlier} - {process}:
            raise MalformedHistory(f"{path} has events of {sorted(others)}; give {process!r} its own file")
        os.truncate(path, Path(path).read_bytes().rfind(b"\n") + 1)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        self._process = process
        self._last = max((event.op for event in earlier), default=0)
        self.in_doubt = {call.op: call for call, outcome in _pairs(earlier) if outcome is None}

    @property
    def count(self) -> int:
        """How many operations this process has started, including those before a restart."""
        return self._last

    def invoke(self, action: str, key: str, value: Json = None) -> int:
        """Record that an operation is about to start. Return its number."""
        self._last += 1
        call = HistoryEvent(self._process, self._last, "invoke", action, key, value, time.monotonic_ns())
        self._write(call)
        self.in_doubt[call.op] = call
        return call.op

    def ok(self, op: int, value: Json = None) -> None:
        """Record that the operation took effect, and what it returned."""
        self._answer(op, "ok", value)
        del self.in_doubt[op]

    def fail(self, op: int, value: Json = None) -> None:
        """Record that the operation was refused and will never take effect."""
        self._answer(op, "fail", value)
        del self.in_doubt[op]

    def info(self, op: int, value: Json = None) -> None:
        """Record a note about an operation that stays in doubt, such as its error."""
        self._answer(op, "info", value)

    def close(self) -> None:
        """Close the file. Open operations stay in doubt."""
        os.close(self._file)

    def _answer(self, op: int, kind: Kind, value: Json) -> None:
        at, call = time.monotonic_ns(), self.in_doubt[op]
        self._write(HistoryEvent(self._process, op, kind, call.action, call.key, value, at))

    def _write(self, event: HistoryEvent) -> None:
        line = event.line()
        if (written := os.write(self._file, line)) != len(line):
            raise OSError(f"{written} of {len(line)} bytes of {event} were written; make room on the disk")


def _pairs(events: Iterable[HistoryEvent]) -> list[tuple[HistoryEvent, HistoryEvent | None]]:
    """Return each invoke with its ok or fail, or None if it is in doubt."""
    pairs: dict[tuple[str, int], tuple[HistoryEvent, HistoryEvent | None]] = {}
    for event in _in_time_order(events):
        number = event.process, event.op
        call, outcome = pairs.get(number, (None, None))
        if event.kind == "invoke" and call is None:
            pairs[number] = event, None
        elif event.kind == "invoke" or call is None or outcome is not None:
            raise MalformedHistory(f"{event} is out of place; expected one invoke, then one ok or fail")
        elif (event.action, event.key) != (call.action, call.key):
            raise MalformedHistory(f"{event} does not answer {call}; expected the same action and key")
        elif event.kind != "info":
            pairs[number] = call, event
    return list(pairs.values())


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with one task. `prefix` has its operations up to the return that nothing explains.

    Kinds: double-claim, after-done (claimed when done), unfenced (released or completed with an epoch that was
    not the owner's), wrong-refusal, impossible (an unexplained epoch), undecided (the search reached its limit)
    and empty (nothing was checked).
    """

    key: str
    kind: str
    message: str
    prefix: tuple[HistoryEvent, ...] = ()

    def __str__(self) -> str:
        return "\n  ".join([self.message, *map(str, self.prefix[-EVENTS_SHOWN:])])


class _State(NamedTuple):
    phase: Literal["free", "owned", "done"]
    owner: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class _Operation:
    call: HistoryEvent
    outcome: HistoryEvent | None
    owner: str
    epoch: int | None = None  # of a claim: only known once it returned ok
    seen: str | None = None

    @property
    def refused(self) -> bool:
        return self.outcome is not None and self.outcome.kind == "fail"

    def effect(self, state: _State) -> _State | None:
        """Return the state it leads to, or None if it cannot take effect."""
        if self.call.action == "claim":
            fits = state.phase == "free" and self.epoch in (None, state.epoch + 1)
            return _State("owned", self.owner, state.epoch + 1) if fits else None
        if (state.phase, state.owner, state.epoch) != ("owned", self.owner, self.epoch):
            return None
        if self.call.action == "release":
            return _State("free", None, state.epoch + 1)
        return _State("done", state.owner, state.epoch)

    def refusable(self, state: _State) -> bool:
        """Return whether `state` is a reason to refuse it as it was refused."""
        return self.effect(state) is None and self.seen in (None, state.owner)

    def __str__(self) -> str:
        return f"{self.owner!r} {DEEDS[self.call.action]} it at epoch {self.epoch}"


_Configurations: TypeAlias = set[tuple[_State, int]]  # the int has a bit for each pending operation placed
_Pending: TypeAlias = Mapping[int, _Operation]


def _operation(call: HistoryEvent, outcome: HistoryEvent | None) -> _Operation:
    match call.action, call.value, outcome and outcome.kind, outcome and outcome.value:
        case "claim", str(owner), None, _:
            return _Operation(call, outcome, owner)
        case "claim", str(owner), "ok", int(epoch):
            return _Operation(call, outcome, owner, epoch)
        case "claim", str(owner), "fail", str() | None as seen:
            return _Operation(call, outcome, owner, seen=seen)
        case "release" | "complete", [str(owner), int(epoch)], _, _:
            return _Operation(call, outcome, owner, epoch)
    raise MalformedHistory(f"{call}, {outcome}: expected an action and values of the table in this module")


def check_claims(events: Iterable[HistoryEvent]) -> list[Violation]:
    """Return the first violation of each task. An empty list means that every task can be explained.

    Sends are ignored. A history without any known outcome is itself a violation: it proves nothing.
    """
    tasks: defaultdict[str, list[_Operation]] = defaultdict(list)
    for call, outcome in _pairs(events):
        if call.action != "send":
            tasks[call.key].append(_operation(call, outcome))
    if not any(op.outcome for ops in tasks.values() for op in ops):
        return [Violation("", "empty", "no claim, release or complete has an outcome: nothing was checked")]
    return [violation for key, ops in tasks.items() if (violation := _check_task(key, ops))]


def _check_task(key: str, ops: Sequence[_Operation]) -> Violation | None:
    calls = [(op.call.at, False, index) for index, op in enumerate(ops)]
    returns = [(op.outcome.at, True, index) for index, op in enumerate(ops) if op.outcome]
    configurations: _Configurations = {(_State("free", None, 0), 0)}
    pending: dict[int, _Operation] = {}
    for at, returned, index in sorted(calls + returns):
        if not returned:
            pending[index] = ops[index]
            continue
        explained = _explain(configurations, index, pending)
        if not explained:
            begun = [op for op in ops if op.call.at <= at]
            kind, words = UNDECIDED if explained is None else _clash(begun, ops[index])
            prefix = _in_time_order(event for op in begun for event in (op.call, op.outcome) if event)
            return Violation(key, kind, f"task {key}: {words}", tuple(prefix))
        configurations = explained
        del pending[index]
    return None


def _explain(configurations: _Configurations, index: int, pending: _Pending) -> _Configurations | None:
    """Return all configurations in which the returning operation is placed, or None past the limit."""
    seen, stack, explained = set(configurations), list(configurations), set()
    returning, bit = pending[index], 1 << index
    while stack:
        state, placed = stack.pop()
        if placed & bit or (returning.refused and returning.refusable(state)):
            explained.add((state, placed & ~bit))
            continue
        fresh = _step(state, placed, pending) - seen
        seen |= fresh
        stack.extend(fresh)
        if len(seen) > SEARCH_LIMIT:
            return None
    return explained


def _step(state: _State, placed: int, pending: _Pending) -> _Configurations:
    """Return the configurations after one more effect."""
    effects: dict[tuple[_State, int], int] = {}
    for index, op in pending.items():
        if placed >> index & 1:
            continue
        if op.refused:
            # A refusal changes nothing, so it can be placed as soon as the state allows it.
            placed |= op.refusable(state) << index
        elif after := op.effect(state):
            # Operations in doubt that lead to the same state are interchangeable: try only the first.
            effects.setdefault((after, index if op.outcome else -1), 1 << index)
    return {(after, placed | bit) for (after, _), bit in effects.items()}


def _clash(begun: Sequence[_Operation], last: _Operation) -> tuple[str, str]:
    """Return the kind and the likely other side. The violation is certain, but its kind is a guess."""
    if last.refused:
        told = f" because {last.seen!r} had it" if last.seen else ""
        return "wrong-refusal", f"{last.owner!r} was refused a {last.call.action}{told}, at no time rightly"
    others = [op for op in reversed(begun) if op.outcome and not op.refused and op is not last]
    for op in others:
        if op.call.action == last.call.action == "claim" and op.epoch == last.epoch:
            return "double-claim", f"{op.owner!r} and {last.owner!r} both claimed it at epoch {op.epoch}"
    if not others:
        return "impossible", f"{last}, which nothing explains"
    rival = max(others, key=lambda op: op.epoch or 0)
    kind = CLAIMED_AGAINST[rival.call.action] if last.call.action == "claim" else "unfenced"
    return kind, f"{last} though {rival}"


@dataclass(frozen=True, slots=True)
class MailVerdict:
    """How many acknowledged sends were checked and what went wrong, with at most ten examples of each."""

    checked: int
    lost: int = 0
    doubled: int = 0
    inverted: int = 0
    invented: int = 0
    examples: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether no send was acknowledged, so nothing is proved."""
        return not self.checked

    @property
    def clean(self) -> bool:
        """Whether something was checked and nothing was wrong."""
        return not (self.empty or self.lost or self.doubled or self.inverted or self.invented)


def sends(events: Iterable[HistoryEvent]) -> tuple[list[Sent], list[Sent]]:
    """Return the acknowledged sends of a history, and those in doubt. A refused one was never sent."""
    found: dict[str, list[Sent]] = {"ok": [], "fail": [], "in doubt": []}
    for call, outcome in _pairs(events):
        match call.action, call.value:
            case "send", [str(sender), int(ordinal), str(message_id)]:
                found[outcome.kind if outcome else "in doubt"].append((sender, ordinal, message_id, call.key))
            case "send", _:
                raise MalformedHistory(f"{call}: expected the value [sender, ordinal, id]")
    return found["ok"], found["in doubt"]


def check_mail(
    sent: Iterable[Sent], heard: Mapping[str, Sequence[Heard]], doubtful: Iterable[Sent] = ()
) -> MailVerdict:
    """Check that recipients heard each acknowledged send once, each doubtful one at most once, in order.

    Ordinals count everything a sender sends to a recipient, across restarts. A message that is sent again keeps
    its id and ordinal. A message heard with another sender or ordinal is invented, and the true one is lost.
    """
    acknowledged = set(sent)
    known = acknowledged.union(doubtful)
    _refuse_twins(known)
    reached = {(who, ordinal, what, to) for to, messages in heard.items() for what, who, ordinal in messages}
    findings = [("lost", message) for message in sorted(acknowledged - reached)]
    findings += [finding for to, messages in heard.items() for finding in _listen(to, messages, known)]
    counts = Counter(kind for kind, _ in findings)
    shown = [found for kind in counts for found in [it for it in findings if it[0] == kind][:EXAMPLES_SHOWN]]
    examples = (f"{kind}: {who!r} to {to!r}, ordinal {n}, id {what!r}" for kind, (who, n, what, to) in shown)
    return MailVerdict(len(acknowledged), **counts, examples=tuple(examples))


def _refuse_twins(known: Iterable[Sent]) -> None:
    ids, ordinals = Counter[tuple[str, str]](), Counter[tuple[str, str, int]]()
    for sender, ordinal, message_id, recipient in known:
        ids[recipient, message_id] += 1
        ordinals[sender, recipient, ordinal] += 1
    for twins, count in [*ids.most_common(1), *ordinals.most_common(1)]:
        if count > 1:
            raise MalformedHistory(f"{count} messages share {twins}; expected an id and an ordinal for each")


def _listen(recipient: str, messages: Sequence[Heard], known: set[Sent]) -> Iterator[tuple[str, Sent]]:
    """Yield what is wrong with the messages of one recipient."""
    before: set[str] = set()
    highest: dict[str, int] = {}
    for message_id, sender, ordinal in messages:
        message = sender, ordinal, message_id, recipient
        if message not in known:
            yield "invented", message
        elif message_id in before:
            yield "doubled", message
        else:
            before.add(message_id)
            if ordinal < highest.setdefault(sender, ordinal):
                yield "inverted", message
            highest[sender] = max(ordinal, highest[sender])
