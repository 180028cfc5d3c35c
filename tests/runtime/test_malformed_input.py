"""What is handed over malformed is refused in our own words, before anything of it is written."""

from collections.abc import Awaitable, Callable

import pytest

from deskmate.core.team.messages import Message, PermissionRequest, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, BadName, BadRecord, Refused
from deskmate.runtime.departure import leave
from deskmate.stores.memory_store import MemoryStore
from tests.runtime.team_process import TeamProcess

pytestmark = pytest.mark.anyio
WORDS = Plain(content="hello")
STAMP = {"run": "r", "ord": 1}


def deep(levels: int) -> PermissionRequest:
    """Return a message whose envelope has so many levels, itself the first."""
    value: object = "bottom"
    for _ in range(levels - 2):
        value = [value]
    return PermissionRequest(request_id="q", tool="bash", arguments={"a": value})


# -- mail that nobody could hear ------------------------------------------------------------------


@pytest.mark.behaviour("send", "M1")
@pytest.mark.parametrize(
    ("sender", "message", "id_", "error"),
    [
        pytest.param("alice", WORDS, "x" * 500, BadInput, id="an id above the cap"),
        pytest.param("alice", WORDS, "x" * 390, BadInput, id="an id above the cap once it comes back"),
        pytest.param("No One", WORDS, "x", BadInput, id="a sender that is no name"),
        pytest.param("alice", Joined(name="zoe", at=0), "x", BadInput, id="a fact that is no message"),
        pytest.param("alice", deep(63), "x", BadRecord, id="too deep to be heard"),
        pytest.param("alice", deep(62), "x", BadRecord, id="too deep to be heard once it comes back"),
    ],
)
async def test_a_message_that_could_not_be_heard_is_not_sent(
    team: TeamProcess, sender: str, message: Message, id_: str, error: type[BadInput]
) -> None:
    mailbox = team.mailbox(sender)
    with pytest.raises(error):
        await mailbox.send("bob", message, id_=id_)
    with pytest.raises(error):
        await mailbox.broadcast(["nobody", "lead", "bob"], message, id_=id_)
    assert [await team.store.read(f"mail/{name}") for name in ("lead", "bob")] == [[], []]


@pytest.mark.behaviour("send", "bounce", "M1")
async def test_the_deepest_message_under_the_longest_id_is_heard_also_when_it_comes_back(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", deep(61), id_="x" * 386)
    assert await team.hear("bob") == [sent]
    unheard = await team.mailbox("alice").send("bob", deep(61), id_="y" * 386)
    await team.leave_and_give_back("bob")
    assert [one.message.body()["original"] for one in await team.hear("alice")] == [unheard.body()]


# -- who is unknown -------------------------------------------------------------------------------


async def test_who_is_not_on_the_roster_cannot_leave_or_give_back(team: TeamProcess) -> None:
    with pytest.raises(Refused) as refused:
        await leave(await team.transcript("ghost"), team.writer, team.roster, team.board, reason="gone")
    assert str(refused.value) == "'ghost' is not on the roster. Only members have a status."
    with pytest.raises(Refused) as refused:
        await team.mailbox("user").give_back()
    assert str(refused.value).startswith("'user' is not on the roster.")


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        pytest.param(lambda team: team.roster.found("Bad Team"), "'Bad Team' is not a valid team name. ", id="found"),
        pytest.param(lambda team: team.join("../x"), "'../x' is not a valid member name. ", id="join"),
        pytest.param(
            lambda team: team.board.create("No Such", NewTask("x")),
            "'No Such' is not a valid member name. ",
            id="create",
        ),
    ],
)
async def test_a_bad_name_is_named_with_what_it_should_have_been(
    team: TeamProcess, deed: Callable[[TeamProcess], Awaitable[object]], words: str
) -> None:
    with pytest.raises(BadName) as refused:
        await deed(team)
    assert str(refused.value).startswith(words)


# -- numbers --------------------------------------------------------------------------------------


async def test_no_record_stands_below_zero() -> None:
    store = MemoryStore()
    await store.append("roster", STAMP)
    with pytest.raises(BadInput):
        await store.read("roster", -1)
    with pytest.raises(BadInput):
        await store.append("roster", {**STAMP, "ord": 2}, expect=-1)
    assert len(await store.read("roster")) == 1
