"""Who may be called what, and which streams and seats there are."""

import re

import pytest

from deskmate.core.names import (
    RESERVED,
    agent_id,
    call_id,
    confusion,
    is_call,
    known_name,
    local_name,
    log,
    mail,
    new_name,
    split_seat,
    split_stream,
)
from deskmate.errors import BadName

GOOD = ("a", "7", "bob", "backend-2", "a_b", "0-0", "a" * 64)
LOOKALIKES = (
    "аlice",  # a Cyrillic a
    "ａlice",  # a full-width a
    "alıce",  # an i without its dot
    "ﬁx",  # one sign for f and i
    "naïve",
    "straße",
    "bob²",
    "agent٣",  # an Arabic-Indic three
    "bob\u200b",  # nothing to see at the end
    "bob\u202e",
    "漢字",
    "bob😀",
    "bob\ud800",  # half a sign
)
BAD = (
    "",
    "Bob",
    "BOB",
    "-bob",
    "_bob",
    "a" * 65,
    "bob ",
    " bob",
    "bob\n",
    "\nbob",
    "bob\x00",
    "a b",
    "a.b",
    "a/b",
    "a\\b",
    "..",
    ".",
    "../../.git/hooks/x",
    "/etc/passwd",
    "a:1.0",
    "a@team",
    "#1",
    "*",
    *LOOKALIKES,
)


@pytest.mark.parametrize("name", GOOD)
def test_a_well_formed_name_is_returned_as_it_is(name: str) -> None:
    assert (new_name(name), known_name(name)) == (name, name)


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_a_name_that_is_not_plain_is_refused_whoever_bears_it(name: str) -> None:
    for rule in (new_name, known_name):
        with pytest.raises(BadName, match="use 1 to 64 of a-z"):
            rule(name)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_known_but_never_given_again(name: str) -> None:
    assert known_name(name) == name
    with pytest.raises(BadName, match=f"the team name '{name}' is reserved"):
        new_name(name, "team")


def test_the_reserved_names_are_these() -> None:
    assert sorted(RESERVED) == ["all", "anyone", "everyone", "lead", "system", "user"]


def test_a_refusal_shows_a_hostile_name_short_and_harmless() -> None:
    with pytest.raises(BadName) as refused:
        known_name("\x1b[31m\u202e" + "x" * 10_000, "team")
    words = str(refused.value)
    assert words.isascii()
    assert words.isprintable()
    assert len(words) < 200
    assert "is no team name" in words


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("alice:1.0", True),
        ("a:999.12", True),
        ("lead:3.0", True),
        ("a" * 64 + ":1.0", True),
        ("alice:0.0", False),
        ("alice:01.0", False),
        ("alice:1.01", False),
        ("alice:1.00", False),
        ("alice:1", False),
        ("alice:.0", False),
        ("alice:1.", False),
        ("alice:-1.0", False),
        ("alice:1.-1", False),
        (":1.0", False),
        ("Alice:1.0", False),
        ("alice:1.0\n", False),
        ("alice: 1.0", False),
        ("alice:1.0.0", False),
        ("alice:1.0/bob", False),
        ("../x:1.0", False),
        ("alice:١.0", False),
        ("a" * 65 + ":1.0", False),
        ("alice:" + "9" * 17 + ".0", False),
        ("alice:1." + "9" * 7, False),
        ("", False),
    ],
)
def test_a_call_id_is_member_record_and_index_and_nothing_else(text: str, is_one: bool) -> None:
    assert is_call(text) is is_one


def test_a_made_call_id_is_a_call_id() -> None:
    assert call_id("alice", 17, 2) == "alice:17.2"
    assert is_call(call_id("alice", 17, 2))


def test_a_member_is_addressed_by_name_or_by_name_and_own_team() -> None:
    assert agent_id("bob", "demo") == "bob@demo"
    assert (local_name("bob", "demo"), local_name("bob@demo", "demo")) == ("bob", "bob")


@pytest.mark.parametrize("address", ["bob@other", "bob@", "bob@demo@demo", "bob@demo ", "@other"])
def test_a_member_of_another_team_cannot_be_addressed(address: str) -> None:
    with pytest.raises(BadName, match="is not in team 'demo'"):
        local_name(address, "demo")


@pytest.mark.parametrize(
    ("stream", "parts"),
    [
        ("roster", ("roster", "")),
        ("board", ("board", "")),
        ("spend", ("spend", "")),
        (mail("bob"), ("mail", "bob")),
        (log("bob"), ("log", "bob")),
        (mail("user"), ("mail", "user")),
        (mail("lead:3.0"), ("mail", "lead:3.0")),
        (log("lead:3.0"), ("log", "lead:3.0")),
    ],
)
def test_a_stream_is_split_into_its_kind_and_whose_it_is(stream: str, parts: tuple[str, str]) -> None:
    assert split_stream(stream) == parts


@pytest.mark.parametrize(
    "stream",
    [
        "",
        "mail",
        "mail/",
        "log",
        "mail/Bob",
        "mail/bob/x",
        "mail/../bob",
        "mail/bob\n",
        "roster/",
        "roster/bob",
        "board/x",
        "inbox/bob",
        "/bob",
        "Roster",
        "roster\n",
        *(f"mail/{name}" for name in BAD if name != "a:1.0"),
    ],
    ids=ascii,
)
def test_what_is_no_stream_is_refused(stream: str) -> None:
    with pytest.raises(BadName, match="is no stream"):
        split_stream(stream)


@pytest.mark.parametrize(
    ("seat", "parts"),
    [("bob", ("", "bob")), ("lead", ("", "lead")), ("calls/0", ("calls", "0")), ("calls/9999", ("calls", "9999"))],
)
def test_a_seat_is_a_member_or_a_numbered_slot(seat: str, parts: tuple[str, str]) -> None:
    assert split_seat(seat) == parts


@pytest.mark.parametrize(
    "seat",
    ["", "Bob", "calls/", "calls/01", "calls/-1", "calls/x", "calls/10000", "calls/0\n", "x/0", "a/calls/0", "/0"],
)
def test_what_is_no_seat_is_refused(seat: str) -> None:
    with pytest.raises(BadName, match="is no seat"):
        split_seat(seat)


# -- look-alikes ------------------------------------------------------------------------------------

LOOK_ALIKE = [
    *((name, "lead") for name in ("1ead", "iead", "lead-", "lead_", "lead--", "lead-_", "l3ad", "le4d", "1e4d__")),
    *((name, "user") for name in ("user_", "user-", "u5er", "us3r", "u53r-")),
    *((name, "all") for name in ("a11", "al1", "all-", "a1i", "aii", "4ll")),
    *((name, "anyone") for name in ("any0ne", "anyone_", "4nyon3")),
    *((name, "everyone") for name in ("every0ne", "everyone-", "3very0n3")),
    *((name, "system") for name in ("5ystem", "systern", "system_", "sys7em", "5y573rn")),
    *((name, "bob") for name in ("b0b", "bob-", "bob__", "80b")),
    *((name, "milo") for name in ("mi1o", "rnilo", "mllo", "mil0-")),
    *((name, "wes") for name in ("vves", "we5", "w3s")),
    *((name, "back-end") for name in ("back_end", "back--end", "8ack_-end")),
]
MEMBERS = (
    "lead",
    "bob",
    "milo",
    "wes",
    "back-end",
    "alice",
    "worker-1",
    "worker-10",
    "m1-11",
    "worker-a",
    "worker-t",
    "agent-b",
    "reviewer-e",
    "back-end-s",
)
SENSIBLE = [
    *("leader", "lead-2", "leading", "plead", "the-lead", "team-lead", "userland", "user-2", "users", "superuser"),
    *("ali", "ally", "allison", "system-tests", "ecosystem", "alice-2", "alice2", "bobby", "bob-2", "rob", "backend"),
    *("back-end-2", "wess", "milos", "worker-2", "worker-11", "worker-12", "worker1", "m11-1", "m1-12", "frontend"),
    *("worker-4", "worker-7", "agent-8", "reviewer-3", "back-end-5"),
    *("a", "7", "qa", "test", "tester", "bernard", "burn", "sven", "savvy", "a" * 64),
]


@pytest.mark.behaviour("look-alikes")
@pytest.mark.parametrize(("name", "like"), LOOK_ALIKE)
def test_a_name_that_can_be_read_as_another_is_refused_with_one_that_is_free(name: str, like: str) -> None:
    free = "teammate-2" if like in RESERVED else f"{like}-2"
    assert confusion(name, MEMBERS) == (
        f"the name '{name}' looks like '{like}' and could be taken for it; choose a different one, such as '{free}'"
    )
    assert known_name(name) == name


@pytest.mark.behaviour("look-alikes")
@pytest.mark.parametrize("name", SENSIBLE)
def test_a_sensible_name_is_allowed_beside_others(name: str) -> None:
    assert confusion(name, MEMBERS) is None
    assert new_name(name) == name


@pytest.mark.behaviour("look-alikes")
def test_the_proposed_name_is_free_and_no_look_alike_itself() -> None:
    members = ["lead", "teammate-2", "tearnmate-3"]
    words = confusion("1ead", members)
    assert words
    free = re.search("such as '(.*)'", words)
    assert free
    assert free[1] == "teammate-4"
    assert confusion(free[1], members) is None
