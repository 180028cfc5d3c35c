"""Valid names of members, teams and streams.

A name becomes part of a file name and of a prompt, so it is checked when it enters and whenever it is read back. A
member's name may be in any script and keeps its case. No two names of a team differ only by case or by letters that
look alike, so their file names differ on every file system.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import count

from deskmate.core.log.confusables import is_letter, is_mark, is_mixed, plain_letters
from deskmate.errors import BadName

LEAD = "lead"
USER = "user"
IN_CHARGE = frozenset({LEAD, USER})
# A message to this name goes to every agent on the team.
ALL = "all"
RESERVED = frozenset({LEAD, USER, ALL, "anyone", "everyone", "system"})

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_CALL = re.compile(r"([^:]{1,64}):([1-9][0-9]{0,15})\.(0|[1-9][0-9]{0,5})")
_PART = re.compile(r"[0-9a-f]{64}-(0|[1-9][0-9]{0,5})")
_LIKE_A_CALL = re.compile(r".*-[0-9]+-[0-9]+")
# Characters that are easily read as others: digits as letters, i as l, and pairs of letters as one.
_LOOK_ALIKES = str.maketrans("0134578i_", "oleastbl-")
_NUMBER = re.compile(r"[_-][0-9]+\Z")
_RUN_TOGETHER = (("rn", "m"), ("vv", "w"))
# A common first name. It looks like "all", but no message comes from "all".
_ALLOWED = frozenset({"ali"})
_RULE = "Use 1 to 64 characters from a-z, 0-9, '_' and '-', starting with a letter or digit."
_MEMBER_RULE = "Use 1 to 64 letters, digits, '_' and '-', starting with a letter or digit."
_MOST = 64
# With the longest suffix, a file name of this many bytes fits into the 255 that file systems allow.
_MOST_BYTES = 192


def new_name(name: str, what: str = "member") -> str:
    """Return the name of a new team or teammate, a member's in normal form; raise BadName if it is refused."""
    if what == "member":
        name = unicodedata.normalize("NFKC", name)
    if name in RESERVED:
        raise BadName(
            f"The {what} name '{name}' is reserved. Choose another name. Reserved names: {', '.join(sorted(RESERVED))}."
        )
    if what == "member" and _LIKE_A_CALL.fullmatch(name):
        # Its blobs could then have the same names as another member's.
        raise BadName(f"{ascii(name)[:80]} ends like the id of a call. Choose a name that ends in at most one number.")
    if what == "member" and is_mixed(name) and _fault(name) is None:
        raise BadName(f"The name '{name}' mixes letters of several scripts. Use letters of one script.")
    return known_name(name, what)


def confusion(name: str, members: Iterable[str]) -> str | None:
    """Return why a new member's name could be mistaken for a reserved or existing one; None if it could not.

    The answer proposes a name that is free. Only new members are checked: names on a roster stay as they are.
    """
    taken = {_as_seen(other): other for other in (*members, *RESERVED)}
    like = taken.get(_as_seen(name))
    if like in (None, name) or (name.casefold() in _ALLOWED and like in RESERVED):
        return None
    if same_name(name, str(like)):
        return f"The name '{name}' differs from '{like}' only by case. Choose a different one."
    stem = "teammate" if like in RESERVED else like
    free = next(other for n in count(2) if _as_seen(other := f"{stem[:56]}-{n}") not in taken)
    return f"The name '{name}' looks like '{like}' and could be mistaken for it. Choose another, such as '{free}'."


def _as_seen(name: str) -> str:
    """Return a name with look-alike characters mapped. Names that become equal are easily confused.

    A number after a separator is not mapped: nobody mistakes `worker-4` for `worker-a`.
    """
    name = plain_letters(name)
    words, number = _NUMBER.sub("", name), "".join(_NUMBER.findall(name))
    words = re.sub("-+", "-", words.translate(_LOOK_ALIKES)).rstrip("-")
    for letters, letter in _RUN_TOGETHER:
        words = words.replace(letters, letter)
    return words + number.replace("_", "-")


def same_name(one: str, other: str) -> bool:
    """Tell whether two texts name the same member: they differ only by case or by the encoding of their letters."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def known_name(name: str, what: str = "member") -> str:
    """Return `name` if it is well formed, including `lead` and `user`; raise BadName otherwise.

    Names of members may be in any script. All others, such as names of teams, are plain.
    """
    if _NAME.fullmatch(name):
        return name
    if what not in ("member", "seat"):
        raise BadName(f"{ascii(name)[:80]} is not a valid {what} name. {_RULE}")
    if fault := _fault(name):
        raise BadName(f"{ascii(name)[:80]} is not a valid {what} name. {fault}")
    return name


def _fault(name: str) -> str | None:
    """Return why a text is not a valid name of a member, or None."""
    if not 0 < len(name) <= _MOST or not is_letter(name[0]):
        return _MEMBER_RULE
    if not all(one in "_-" or is_letter(one) or is_mark(one) for one in name):
        return _MEMBER_RULE
    if len(name.encode()) > _MOST_BYTES:
        return f"It is too long for this script. Use at most {_MOST_BYTES // 4} letters."
    if name != unicodedata.normalize("NFKC", name):
        return "Write it in its normal form (Unicode NFKC)."
    if (reserved := _folded(name)) in RESERVED and name != reserved:
        return f"It differs from '{reserved}' only by case. Choose another."
    return None


def is_call(text: str) -> bool:
    """Tell whether `text` is a call id: `<member>:<number of its Said>.<index>`."""
    found = _CALL.fullmatch(text)
    return found is not None and _is_member(found[1])


def _is_member(text: str) -> bool:
    # Most names are plain, and cost one match.
    return _NAME.fullmatch(text) is not None or _fault(text) is None


def call_id(member: str, said: int, index: int) -> str:
    """Return the id of the `index`-th call of what `member` said in record `said`. It never has the member's team."""
    return f"{member.partition('@')[0]}:{said}.{index}"


def is_command(background: str) -> bool:
    """Tell whether this is the id of a background command, not of a subagent."""
    return background.startswith(COMMAND)


def blob_name(call: str) -> str:
    """Return the prefix of the names of a call's blobs: `lead-12-0` for `lead:12.0`."""
    return call.replace(":", "-").replace(".", "-")


def agent_id(member: str, team: str) -> str:
    """Return the name of a member outside its team. A name that has a team already stays as it is."""
    return member if "@" in member else f"{member}@{team}"


def local_name(address: str, team: str) -> str:
    """Return the member's name in `name` or `name@team`; raise BadName for another team's member."""
    name, at, other = address.partition("@")
    if at and other.lower() != team:
        raise BadName(f"{ascii(address)[:80]} is not in team '{team}'. Write to members of your own team by name.")
    return name


def mail(member: str) -> str:
    """Return the name of a member's mailbox stream."""
    return f"mail/{member}"


def box(member: str, away: str) -> str:
    """Return what a transcript calls a mailbox. A lead has one at home and one in the team it works in."""
    return mail(agent_id(member, away)) if away and member == LEAD else mail(member)


def log(member: str) -> str:
    """Return the name of a member's transcript stream."""
    return f"log/{member}"


def code_of(member: str) -> str:
    """Return the name of the stream in which a member on another machine says which code it sends or needs."""
    return f"{CODE}/{member}"


def chunks_of(payload: str, part: int) -> str:
    """Return the name of a stream with chunks of what was sent. `payload`: its SHA-256. `part`: counts from 0."""
    return f"{CHUNKS}/{payload}-{part}"


ROSTER = "roster"
BOARD = "board"
SPEND = "spend"
SCHEDULE = "schedule"
# The stream of a space, not of a team.
HOSTS = "hosts"
# What the lead says about code to members on other machines. Each of these answers in a stream of its own.
CODE = "code"
CHUNKS = "chunks"
# The streams that a team has once.
SHARED = (ROSTER, BOARD, SPEND, SCHEDULE, CODE)

# The prefixes of the ids of background commands and subagents.
COMMAND, SUBAGENT = "b", "a"


def split_stream(stream: str) -> tuple[str, str]:
    """Return a stream's kind and owner: `("mail", "bob")`, `("board", "")`; raise BadName for any other text."""
    kind, slash, owner = stream.partition("/")
    if not slash and kind in (*SHARED, HOSTS):
        return kind, ""
    if slash and kind in ("mail", "log") and (_is_member(owner) or is_call(owner)):
        return kind, owner
    if slash and ((kind == CODE and _is_member(owner)) or (kind == CHUNKS and _PART.fullmatch(owner))):
        return kind, owner
    raise BadName(
        f"{ascii(stream)[:80]} is not a stream. There are {', '.join(SHARED)}, mail/<name>, log/<name>, code/<name> "
        "and chunks/<hash>-<number>."
    )


def split_seat(seat: str) -> tuple[str, str]:
    """Return a seat's folder and its name there: `("", "bob")`, `("calls", "0")`; raise BadName for any other text."""
    where, slash, slot = seat.rpartition("/")
    if not slash:
        return "", known_name(seat, "seat")
    if where == "calls" and re.fullmatch(r"0|[1-9][0-9]{0,3}", slot):
        return where, slot
    raise BadName(f"{ascii(seat)[:80]} is not a seat. There are <member> and calls/<number>.")
