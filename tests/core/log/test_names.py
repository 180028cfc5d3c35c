"""Who may be called what, and which streams and seats there are."""

import re
import unicodedata
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.log.names import (
    RESERVED,
    agent_id,
    call_id,
    chunks_of,
    code_of,
    confusion,
    is_call,
    known_name,
    local_name,
    log,
    mail,
    new_name,
    same_name,
    split_seat,
    split_stream,
)
from deskmate.errors import BadName

GOOD = ("a", "7", "bob", "backend-2", "a_b", "0-0", "a" * 64)
ANY_SCRIPT = (
    "前端",
    "Alice",
    "BOB",
    "Böb",
    "naïve",
    "straße",
    "данные",
    "テスト係",
    "やまだ",
    "테스터",
    "עוזר",
    "संपादक",
    "Ω2",
)
UNPLAIN = (
    "аlice",  # a Cyrillic a
    "ａlice",  # a full-width a
    "alıce",  # an i without its dot
    "ﬁx",  # one sign for f and i
    "bob²",
    "agent٣",  # an Arabic-Indic three
    *ANY_SCRIPT,
)
BAD = (
    "",
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
    "bob\u200b",  # nothing to see at the end
    "bob\u202e",
    "前\u200d端",
    "前/端",
    "bob😀",
    "bob\ud800",  # half a sign
    "\u0301bob",  # an accent on nothing
    "bob\u02bc",  # a modifier
)


@pytest.mark.parametrize("name", GOOD)
def test_a_well_formed_name_is_returned_as_it_is(name: str) -> None:
    assert (new_name(name), known_name(name)) == (name, name)


@pytest.mark.parametrize("name", [*BAD, *UNPLAIN], ids=ascii)
def test_the_name_of_a_team_is_plain_and_in_lower_case(name: str) -> None:
    for rule in (new_name, known_name):
        with pytest.raises(BadName, match="Use 1 to 64 characters from a-z"):
            rule(name, "team")


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_a_name_that_no_letters_make_is_refused_for_a_member(name: str) -> None:
    for rule in (new_name, known_name):
        with pytest.raises(BadName, match="Use 1 to 64 letters"):
            rule(name)


@pytest.mark.parametrize("name", ANY_SCRIPT)
def test_a_member_may_have_a_name_in_any_script_and_it_keeps_its_case(name: str) -> None:
    assert (new_name(name), known_name(name)) == (name, name)
    assert split_stream(mail(name)) == ("mail", name)
    assert split_seat(name) == ("", name)
    assert is_call(call_id(name, 3, 0))


@pytest.mark.parametrize(
    ("typed", "name"), [("ａlice", "alice"), ("ﬁx", "fix"), ("Bo\u0308b", "Böb"), ("ｱﾘｽ", "アリス")]
)
def test_a_new_name_is_given_in_its_normal_form_and_known_only_so(typed: str, name: str) -> None:
    assert new_name(typed) == name
    with pytest.raises(BadName, match="normal form"):
        known_name(typed)


@pytest.mark.parametrize("name", ["аlice", "pаypal", "aliceα", "bob前", "lеad", "アリスbob"], ids=ascii)
def test_a_new_name_that_mixes_scripts_is_refused_but_one_on_a_roster_is_read(name: str) -> None:
    with pytest.raises(BadName, match="mixes letters of several scripts"):
        new_name(name)
    assert known_name(name) == name


@pytest.mark.parametrize("name", ["Lead", "USER", "All"])
def test_a_reserved_name_in_another_case_is_nobodys(name: str) -> None:
    for rule in (new_name, known_name):
        with pytest.raises(BadName, match=f"It differs from '{name.lower()}' only by case. Choose another"):
            rule(name)


def test_a_name_of_many_bytes_is_refused_before_it_is_too_long_for_a_file() -> None:
    assert known_name("前" * 64) == "前" * 64
    with pytest.raises(BadName, match="too long for this script"):
        known_name("𠮷" * 64)


@pytest.mark.parametrize(
    ("typed", "name"), [("ALICE", "Alice"), ("bÖB", "Böb"), ("STRASSE", "straße"), ("ａlice", "Alice")]
)
def test_names_are_the_same_whatever_their_case(typed: str, name: str) -> None:
    assert same_name(typed, name)
    assert not same_name(typed, f"{name}-2")


@pytest.mark.parametrize(
    ("name", "like"),
    [
        *[("Lead", "lead"), ("USER", "user"), ("Aii", "all"), ("LEAD", "lead"), ("léad", "lead"), ("ӏеаԁ", "lead")],
        *[("ꓡꓰꓮꓓ", "lead"), ("υѕег", "user"), ("аӏӏ", "all"), ("ALICE", "alice"), ("alicé", "alice"), ("口ロ", "ロロ")],
    ],
    ids=ascii,
)
def test_a_name_that_looks_like_another_in_any_script_is_refused_with_the_reason(name: str, like: str) -> None:
    words = confusion(name, ["lead", "alice", "ロロ"])
    assert words is not None
    assert f"'{like}'" in words


@pytest.mark.parametrize("name", ["前端", "Carol", "данные", "Ali", "ロボ", "Böb"])
def test_a_name_in_another_script_that_looks_like_none_is_free(name: str) -> None:
    assert confusion(name, ["lead", "alice", "bob-2"]) is None


LETTERS = st.text(
    st.characters(categories=("Ll", "Lu", "Lt", "Lo", "Lm", "Mn", "Mc", "Nd", "Cf", "Cc", "Zs", "Po"))
    | st.sampled_from("_-./@: "),
    max_size=70,
)


@given(LETTERS)
def test_whatever_is_typed_a_new_name_is_safe_in_a_file_name_and_an_address(typed: str) -> None:
    name = ""
    with suppress(BadName):
        name = new_name(typed)
    if not name:
        return
    assert unicodedata.normalize("NFC", name) == name
    assert not set(name) & set("/\\.:@ \n\x00")
    assert len(f"{name}_transcript.jsonl".encode()) <= 255
    assert (new_name(name), known_name(name)) == (name, name)
    assert (local_name(agent_id(name, "demo"), "demo"), split_stream(log(name))) == (name, ("log", name))


@given(st.lists(LETTERS, max_size=12))
def test_file_names_of_members_that_may_join_differ_by_more_than_case(typed: list[str]) -> None:
    members: list[str] = []
    for text in typed:
        with suppress(BadName):
            name = new_name(text)
            if name not in members and confusion(name, members) is None:
                members.append(name)
    assert len({unicodedata.normalize("NFD", name.upper().lower()) for name in members}) == len(members)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_known_but_never_given_again(name: str) -> None:
    assert known_name(name) == name
    with pytest.raises(BadName, match=f"The team name '{name}' is reserved"):
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
    assert "is not a valid team name" in words


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
        ("Alice:1.0", True),
        ("前端:1.0", True),
        ("-a:1.0", False),
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
        ("code", ("code", "")),
        (code_of("bob"), ("code", "bob")),
        (chunks_of("0a" * 32, 12), ("chunks", f"{'0a' * 32}-12")),
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
        "mail/-Bob",
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
        "code/lead:3.0",
        "chunks",
        "chunks/bob",
        f"chunks/{'0A' * 32}-0",
        f"chunks/{'0a' * 32}-00",
        f"chunks/{'0a' * 32}-0/../x",
        *(f"mail/{name}" for name in BAD if name != "a:1.0"),
    ],
    ids=ascii,
)
def test_what_is_no_stream_is_refused(stream: str) -> None:
    with pytest.raises(BadName, match="is not a stream"):
        split_stream(stream)


@pytest.mark.parametrize(
    ("seat", "parts"),
    [("bob", ("", "bob")), ("lead", ("", "lead")), ("calls/0", ("calls", "0")), ("calls/9999", ("calls", "9999"))],
)
def test_a_seat_is_a_member_or_a_numbered_slot(seat: str, parts: tuple[str, str]) -> None:
    assert split_seat(seat) == parts


@pytest.mark.parametrize(
    "seat",
    ["", "-Bob", "calls/", "calls/01", "calls/-1", "calls/x", "calls/10000", "calls/0\n", "x/0", "a/calls/0", "/0"],
)
def test_what_is_no_seat_is_refused(seat: str) -> None:
    with pytest.raises(BadName, match="is not a"):
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
        f"The name '{name}' looks like '{like}' and could be mistaken for it. Choose another, such as '{free}'."
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
