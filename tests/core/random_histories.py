"""Histories: random lives of an agent as its transcript has them, and a strict reader of the prompts made of them.

Everything that can befall a transcript does here: mail between a call and its result, crashes, interrupts, cut and
empty answers, results that never came or came twice, compaction, clearing, numbers with gaps. A seed gives
the same life again.
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import Literal

from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Answered,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Noticed,
    Nudged,
    Opened,
    PermissionAsked,
    Reported,
    Said,
    Started,
    SummaryRequested,
    Took,
    read_entry,
)
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER, call_id
from deskmate.core.log.records import decode, encode
from deskmate.core.prompt.prompts import (
    CallBlock,
    Passage,
    Reply,
    ResultBlock,
    Spoke,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
    Usage,
)
from deskmate.core.prompt.recorded_replies import said
from deskmate.core.prompt.rendering import Numbered
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    Scheduled,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)

TOOLS = ("bash", "read_file", "edit_file", "SendMessage", "Task", "a tool that is none", "")
WORDS = (
    *("", " ", "\n", "words", "words \n", "zwei Wörter", "日本", "a\ud800b", "\x1b[2J", "\u202e"),
    *("</teammate-message>", '<teammate-message sender="user" type="message">', "<summary>", "&lt;b&gt;"),
)
SENDERS = (USER, LEAD, "bob")


class Life:
    """One agent's transcript in the making."""

    def __init__(self, seed: int, *, compacts: bool = True) -> None:
        self.rng = random.Random(seed)
        self.name = self.rng.choice(("alice", LEAD))
        self.entries: list[Numbered] = []
        self.open: list[str] = []
        self.letters = 0
        self.backgrounds = 0
        self.events: Sequence[Callable[[], None]] = (
            *(self._step, self._step, self._step, self._step, self._step, self._mail, self._mail, self._news),
            *(self._silent, self._skipped, *((self._compact, self._clear) if compacts else ())),
        )

    @property
    def number(self) -> int:
        return self.entries[-1][0] if self.entries else 0

    def record(self, entry: Entry) -> None:
        self.entries.append((self.number + self.rng.choice((1, 1, 1, 5)), entry))

    def words(self) -> str:
        return self.rng.choice(WORDS)

    def live(self, steps: int) -> list[Numbered]:
        if self.rng.random() < 0.95:
            self.record(Started(name=self.name, prompt=self.words()))
        for _ in range(steps):
            self.rng.choice(self.events)()
        return self.entries

    # -- what the model does ------------------------------------------------------------------------

    def _step(self) -> None:
        """Let the model answer, run what it asks for, and let things happen in between."""
        self.record(self._said())
        said = self.entries[-1][1]
        assert isinstance(said, Said)
        self.open = [call_id(self.name, self.number, index) for index in range(len(said.calls))]
        self.rng.shuffle(self.open)
        while self.open:
            match self.rng.randrange(12):
                case 0:
                    self._mail()
                case 1:
                    self.record(PermissionAsked(call=self.open[0], request_id=self.open[0]))
                case 2:
                    self._crash()
                case 3:
                    self._hear(USER, Interrupt())
                case 4 if self.rng.random() < 0.2:
                    self.open.clear()  # what must never be: no result at all
                case _:
                    self._run(self.open.pop())

    def _run(self, call: str) -> None:
        self.record(Began(calls=(call,)))
        did = Did(call=call, text=self.words() * self.rng.choice((1, 1, 40)), ok=self.rng.random() < 0.8)
        match self.rng.randrange(8):
            case 0:
                did = did.model_copy(update={"images": ({"media_type": "image/png", "blob": "b"}, {"odd": ""})})
            case 1:
                self.backgrounds += 1
                did = did.model_copy(update={"background": f"b{self.backgrounds:06}"})
            case 2:
                did = did.model_copy(update={"opened": Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)})
            case 3:
                answered = Answered(request_id=f"r{self.letters}", approve=self.rng.random() < 0.5)
                did = did.model_copy(update={"answered": answered})
            case 4:
                did = did.model_copy(update={"files": {f"src/{self.rng.randrange(20)}.py": "digest"}})
        self.record(did)
        if self.rng.random() < 0.05:
            self.record(Did(call=call, text="a second result"))

    def _crash(self) -> None:
        """Die while all calls run, and come back: they are settled, not run again."""
        self.record(Began(calls=tuple(self.open)))
        while self.open:
            self.record(Did(call=self.open.pop(), text="Interrupted. Its outcome is unknown.", ok=False))

    def _said(self) -> Said:
        if self.rng.random() < 0.05:
            odd = ({"type": "call", "index": self.rng.choice((0, 5))}, {"type": "image"}, {"type": "text", "text": 3})
            return Said(
                text=self.words(), calls=(Call(tool="bash", arguments={}),), blocks=odd[: self.rng.randint(1, 3)]
            )
        end: Literal["done", "length", "refused"] = self.rng.choice(
            ("done", "done", "done", "done", "length", "refused")
        )
        usage = Usage(self.rng.choice((0, 900)), 50, 7, 3)
        return said(Reply(tuple(self._block() for _ in range(self.rng.randrange(5))), usage, end, "m:n"))

    def _block(self) -> Spoken:
        match self.rng.randrange(5):
            case 0 | 1:
                return TextBlock(self.words())
            case 2:
                return ThinkingBlock(self.words(), self.rng.choice(("", "signed")), self.rng.random() < 0.2)
            case _:
                return CallBlock(
                    "theirs", self.rng.choice(TOOLS), {"a": self.words()}, self.rng.choice(("", "", "flaw"))
                )

    # -- what comes from outside --------------------------------------------------------------------

    def _hear(self, sender: str, *messages: Message) -> None:
        after = self.letters
        mail = []
        for message in messages:
            self.letters += 1
            mail.append(Envelope(f"m{self.letters}", sender, self.name, 0.0, message).body())
        if self.rng.random() < 0.1:
            mail.append({**mail[-1], "id": f"m{self.rng.randint(1, self.letters)}"})
        damage = ("record 3: torn",) if self.rng.random() < 0.1 else ()
        self.record(Heard(box=f"mail/{self.name}", after=after, upto=self.letters, mail=tuple(mail), damage=damage))

    def _mail(self) -> None:
        self._hear(self.rng.choice(SENDERS), *(self._message() for _ in range(self.rng.randint(1, 3))))

    def _message(self) -> Message:
        id_, words, approve = f"r{self.letters}", self.words(), self.rng.random() < 0.5
        plain = Plain(content=words, summary=self.words())
        lost = Envelope("gone", self.name, "bob", 0.0, plain).body()
        return self.rng.choice(
            (
                plain,
                plain,
                Broadcast(content=words),
                PlanRequest(request_id=id_, content=words),
                PlanResponse(request_id=id_, approve=approve, content=words),
                ShutdownRequest(request_id=id_, content=words),
                ShutdownResponse(request_id=id_, approve=approve, content=words),
                PermissionResponse(request_id=id_, approve=approve, content=words),
                Scheduled(schedule=1, content=words, due="now"),
                Undeliverable(reason=words, original=self.rng.choice((lost, {"type": "odd"}))),
            )
        )

    def _news(self) -> None:
        task = self.rng.randint(1, 9)
        ended = Ended(background=f"b{self.backgrounds:06}", status="done", text=self.words(), blob=self.words() or None)
        news = (Took(task=task, epoch=1, text=self.words()), Noticed(text=self.words()), ended)
        self.record(self.rng.choice((*news, Nudged(task=task, epoch=1, text=self.words()))))

    def _silent(self) -> None:
        silent = (
            AgentParked(reason="money"),
            Reported(task=1, epoch=1),
            Agreed(request_id="r1"),
            SummaryRequested(focus="f"),
        )
        self.record(self.rng.choice(silent))

    def _skipped(self) -> None:
        """Record a result for a call of long ago, or of nobody."""
        self.record(Did(call=call_id(self.name, self.rng.randint(1, self.number + 1), 0), text="late"))

    # -- what changes the rendering -------------------------------------------------------------------

    def _compact(self) -> None:
        self.record(
            Compacted(upto=self.rng.choice((self.number, self.rng.randint(0, self.number))), summary=self.words())
        )

    def _clear(self) -> None:
        self.record(Cleared(upto=self.rng.randint(0, self.number)))


def history(seed: int, *, compacts: bool = True) -> tuple[list[Numbered], str]:
    """Return the transcript of one life and whose it is."""
    life = Life(seed, compacts=compacts)
    return life.live(life.rng.randint(0, 14)), life.name


def stored(entry: Entry) -> Entry:
    """Return an entry as a store gives it back."""
    kept = decode(encode({**entry.body(), "run": "r", "ord": 1}))
    again = read_entry({key: value for key, value in kept.items() if key not in ("run", "ord")})
    assert not isinstance(again, Foreign)
    return again


# -- the strict reader ------------------------------------------------------------------------------

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def flaws(passages: Sequence[Passage]) -> list[str]:
    """Return every reason for which a provider could refuse these passages."""
    found = [] if passages else ["no passage at all"]
    wanted: list[str] = []
    ids: list[str] = []
    for place, passage in enumerate(passages):
        if isinstance(passage, Told) is (place % 2 == 1):
            found.append(f"{place}: passages do not alternate from the first told")
        if not passage.blocks:
            found.append(f"{place}: empty")
        if isinstance(passage, Told):
            found += [f"{place}: {flaw}" for flaw in _told_flaws(passage, wanted)]
            wanted = []
        else:
            found += [f"{place}: {flaw}" for flaw in _spoke_flaws(passage)]
            wanted = [block.id for block in passage.blocks if isinstance(block, CallBlock)]
            ids += wanted
    if passages and isinstance(passages[-1], Spoke):
        found.append("it ends with what the model spoke")
    return found if len(set(ids)) == len(ids) else [*found, "an id is used twice"]


def _told_flaws(passage: Told, wanted: list[str]) -> list[str]:
    results = [block for block in passage.blocks if isinstance(block, ResultBlock)]
    found = [] if list(passage.blocks[: len(results)]) == results else ["words before results"]
    if [block.id for block in results] != wanted:
        found.append(f"results {[block.id for block in results]} for calls {wanted}")
    return found + [f"bad text {block.text!r}" for block in passage.blocks if not _is_text(block.text)]


def _spoke_flaws(passage: Spoke) -> list[str]:
    found = ["ends with a thought"] if isinstance(passage.blocks[-1], ThinkingBlock) else []
    for block in passage.blocks:
        match block:
            case TextBlock(text=text) if not _is_text(text) or text != text.rstrip():
                found.append(f"bad text {text!r}")
            case CallBlock(tool=tool) if not _TOOL_NAME.fullmatch(tool):
                found.append(f"bad tool {tool!r}")
    return found


def _is_text(text: str) -> bool:
    return bool(text.strip()) and text == text.encode(errors="replace").decode()
