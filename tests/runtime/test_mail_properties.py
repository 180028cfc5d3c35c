"""Joins, leaves, sends and deaths in any order, by two processes: every message is heard or comes back, once.

Each step is what a real process does on a real store; what came of it is read from the transcripts at the end.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import TypeVar

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from deskmate.core.agent.entries import Heard
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.log.records import Record
from deskmate.core.team.messages import Envelope, Plain, Undeliverable, read_envelope
from deskmate.errors import Refused, UnknownRecipient
from deskmate.ports import Store
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.chaos import memory_folder
from tests.runtime.team_process import Deed, FaultyStore, Killed, Moment, TeamProcess, die, envelopes

T = TypeVar("T")
Open = Callable[[], Store]
Stores = Callable[[], AbstractContextManager[Open]]

STRANGERS = st.sampled_from(("nobody", "Ann", "m1@other", "all"))
PICK = st.integers(0, 5)
SIDES = st.integers(0, 1)
MOMENTS = st.sampled_from(("before append", "after append"))
# What happens while someone writes to a mailbox: nothing, its writer dies, or its owner leaves.
ACCIDENTS = st.sampled_from(("none", "none", "death", "leave", "leave and give back"))


def pick(number: int, names: Iterable[str]) -> str:
    """Return one of these names, the same for the same number."""
    among = sorted(names)
    return among[number % len(among)]


class Mail(RuleBasedStateMachine):
    """A lead, and teammates who come and go, played by two processes on one store."""

    def __init__(self, stores: Stores) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.portal = self.stack.enter_context(start_blocking_portal())
        open_ = self.stack.enter_context(stores())
        clock = FakeClock()
        self.wires = [FaultyStore(open_()) for _ in range(2)]
        self.sides = [TeamProcess(open_, clock, wire) for wire in self.wires]
        self.here: set[str] = {LEAD}
        self.left: set[str] = set()
        self.owing: set[str] = set()
        self.sent: dict[str, tuple[str, str]] = {}
        self.doubtful: dict[str, tuple[str, str]] = {}

    def teardown(self) -> None:
        with self.stack:
            self.settle()
            self.check()

    def run(self, deed: Callable[[], Awaitable[T]]) -> T:
        try:
            return self.portal.call(deed)
        finally:
            for wire in self.wires:
                wire.forget()

    @initialize()
    def found(self) -> None:
        self.run(lambda: self.sides[0].roster.found("team"))
        for side in (0, 1):
            self.join(side)

    @property
    def writers(self) -> set[str]:
        return {USER, *self.here}

    # -- coming and going -------------------------------------------------------------------------

    @rule(side=SIDES)
    def join(self, side: int) -> None:
        name = f"m{len(self.here) + len(self.left)}"
        self.run(lambda: self.sides[side].join(name))
        self.here.add(name)

    @rule(number=PICK, side=SIDES, stranger=STRANGERS)
    def mistake(self, number: int, side: int, stranger: str) -> None:
        """Join under a name that was used, and write to somebody who was never here."""
        used, mailbox = pick(number, self.writers | self.left), self.sides[side].mailbox(pick(number, self.writers))
        with pytest.raises(Refused):
            self.run(lambda: self.sides[side].join(used))
        with pytest.raises(UnknownRecipient):
            self.run(lambda: mailbox.send(stranger, Plain(content="hello?")))

    @rule(number=PICK, side=SIDES, gives_back=st.booleans())
    def leave(self, number: int, side: int, gives_back: bool) -> None:
        self.run(self.leaving(self.sides[side], pick(number, self.here), gives_back))

    def leaving(self, process: TeamProcess, name: str, gives_back: bool) -> Deed:
        """Return the deed by which a teammate leaves, if it is here then."""

        async def deed() -> None:
            if name in self.here and name != LEAD:
                self.here.remove(name)
                self.left.add(name)
                self.owing.add(name)
                await process.leave(name)
                if gives_back:
                    await process.mailbox(name).give_back()
                    self.owing.remove(name)

        return deed

    @precondition(lambda self: self.left)
    @rule(number=PICK, side=SIDES, other=PICK, moment=MOMENTS, accident=ACCIDENTS)
    def give_back(self, number: int, side: int, other: int, moment: Moment, accident: str) -> None:
        """Give back what somebody who left had not heard, for the first time or again."""
        name = pick(number, self.left)
        self.prepare(side, pick(other, self.here), moment, accident)
        try:
            self.run(self.sides[side].mailbox(name).give_back)
            self.owing.discard(name)
        except Killed:
            assert accident == "death"

    def prepare(self, side: int, owner: str, moment: Moment, accident: str) -> None:
        """Let an accident happen as this side writes to somebody's mailbox."""
        if accident == "death":
            self.wires[side].at(moment, mail(owner), die)
        elif accident != "none":
            other = self.sides[1 - side]
            self.wires[side].at(moment, mail(owner), self.leaving(other, owner, accident == "leave and give back"))

    # -- mail -------------------------------------------------------------------------------------

    @rule(sender=PICK, recipient=PICK, side=SIDES)
    def talk(self, sender: int, recipient: int, side: int) -> None:
        self.send(sender, recipient, side, "before append", "none")

    @rule(sender=PICK, recipient=PICK, side=SIDES, moment=MOMENTS, accident=ACCIDENTS)
    def send(self, sender: int, recipient: int, side: int, moment: Moment, accident: str) -> None:
        by = pick(sender, self.writers)
        id_ = f"{by}:{len(self.sent) + len(self.doubtful) + 1}.0"
        self.try_to_send(id_, by, pick(recipient, self.writers | self.left), side, moment, accident)

    @precondition(lambda self: self.sent or self.doubtful)
    @rule(number=PICK, side=SIDES, moment=MOMENTS, accident=ACCIDENTS)
    def send_again(self, number: int, side: int, moment: Moment, accident: str) -> None:
        """Send again what was sent, as a sender does that was killed before it noted its success."""
        tried = {**self.doubtful, **self.sent}
        id_ = pick(number, tried)
        if tried[id_][0] in self.writers:
            self.try_to_send(id_, *tried[id_], side, moment, accident)

    def try_to_send(self, id_: str, sender: str, recipient: str, side: int, moment: Moment, accident: str) -> None:
        if sender != recipient or accident == "death":
            self.prepare(side, recipient, moment, accident)
        known = recipient in self.writers
        mailbox = self.sides[side].mailbox(sender)
        try:
            self.run(lambda: mailbox.send(recipient, Plain(content=id_), id_=id_))
        except UnknownRecipient:
            assert not known
        except Killed:
            assert accident == "death"
            self.doubtful.setdefault(id_, (sender, recipient))
        else:
            assert known
            self.sent[id_] = sender, recipient

    @rule(number=PICK, side=SIDES, moment=MOMENTS, dies=st.sampled_from((False, False, True)))
    def hear(self, number: int, side: int, moment: Moment, dies: bool) -> None:
        name = pick(number, self.here)
        if dies:
            self.wires[side].at(moment, f"log/{name}", die)
        try:
            self.run(lambda: self.sides[side].hear(name))
        except Killed:
            assert dies

    # -- what came of it --------------------------------------------------------------------------

    def settle(self) -> None:
        """Let those who died before they had given back do so, as their next holder does; let all others hear all."""
        for name in sorted(self.owing):
            self.run(self.sides[0].mailbox(name).give_back)
        for name in sorted(self.here):
            self.run(partial(self.sides[1].hear, name))

    def check(self) -> None:
        heard = {name: self.run(partial(self.heard_by, name)) for name in self.here | self.left}
        heard[USER] = self.run(self.in_the_users_mailbox)
        for name, mail_of_one in heard.items():
            assert all(count == 1 for count in Counter(envelope.id for envelope in mail_of_one).values()), name
            assert all(envelope.recipient == name for envelope in mail_of_one)
        for id_, (sender, recipient) in {**self.doubtful, **self.sent}.items():
            ends = self.ends(heard, id_)
            assert len(ends) <= 1, f"{id_} ended {ends}"
            assert ends or id_ not in self.sent, f"{id_} from {sender} to {recipient} is lost"
            assert set(ends) <= self.right_ends(sender, recipient), f"{id_} from {sender} to {recipient}: {ends}"
        members = {USER, *self.here, *self.left}
        streams = {stream for wire in self.wires for stream in wire.appended}
        assert streams <= {"roster", *map(mail, members), *(f"log/{name}" for name in members)}

    async def heard_by(self, name: str) -> list[Envelope]:
        entries = (await self.sides[0].transcript(name)).entries
        return [envelope for _, entry in entries if isinstance(entry, Heard) for envelope in envelopes(entry)]

    async def in_the_users_mailbox(self) -> list[Envelope]:
        """Return the user's mail. The user has no transcript, so a face that shows it drops repeats."""
        items = await self.sides[0].store.read(mail(USER))
        found = [read_envelope(item.body) for item in items if isinstance(item, Record)]
        return list({envelope.id: envelope for envelope in found if isinstance(envelope, Envelope)}.values())

    @staticmethod
    def ends(heard: dict[str, list[Envelope]], id_: str) -> list[tuple[str, str]]:
        """Return how one message ended, and with whom, as often as it did."""
        ends = []
        for name, mail_of_one in heard.items():
            for envelope in mail_of_one:
                if envelope.id == id_:
                    ends.append(("heard", name))
                elif isinstance(envelope.message, Undeliverable) and envelope.message.original["id"] == id_:
                    assert envelope.message.original["content"] == id_
                    ends.append(("returned", name))
        return ends

    def right_ends(self, sender: str, recipient: str) -> set[tuple[str, str]]:
        if recipient in self.writers:
            return {("heard", recipient)}
        back = {sender} if sender in self.writers else {sender, LEAD}
        return {("heard", recipient)} | {("returned", name) for name in back}


@contextmanager
def in_memory() -> Iterator[Open]:
    store = MemoryStore()
    yield lambda: store


@contextmanager
def on_disk() -> Iterator[Open]:
    """Open a handle of its own for each process."""
    with memory_folder() as folder, ExitStack() as stack:
        yield lambda: stack.enter_context(closing(JsonlStore.open(folder, "team", create=True)))


@pytest.mark.behaviour("M1", "M2", "M6", "send", "bounce")
@pytest.mark.parametrize("stores", [in_memory, on_disk])
def test_every_message_is_heard_or_comes_back_once_and_none_makes_a_mailbox_for_nobody(stores: Stores) -> None:
    run_state_machine_as_test(
        lambda: Mail(stores),  # type: ignore[arg-type]
        settings=settings(stateful_step_count=50, suppress_health_check=list(HealthCheck)),
    )
