"""Nasty strings and nasty folders: refused by name or kept as they are, nothing followed, nothing outside touched."""

import os
import re
import socket
import stat
import string
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.core.log.names import RESERVED, mail
from deskmate.core.log.records import RECORD_CAP, Record
from deskmate.errors import BadName, StoreCorrupt, TooLarge, UnsafeFolder
from deskmate.fs.private_folder import refuse_local_locks
from deskmate.stores.jsonl_store import JsonlStore
from tests.chaos import letter
from tests.chaos.files import independent_reader
from tests.chaos.files.naughty_strings import NAUGHTY

pytestmark = pytest.mark.anyio

INBOX = ".teams/team/bob_inbox.jsonl"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a team in it, and beside it something that is none of the team's business."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("untouched")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    JsonlStore.open(workspace, "team", create=True).close()
    return workspace


@pytest.fixture
def store(workspace: Path) -> Iterator[JsonlStore]:
    store = JsonlStore.open(workspace, "team")
    yield store
    store.close()


def tree(folder: Path) -> dict[str, bytes]:
    """Return every path below a folder, with its bytes where it is a file."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def well_formed(text: str) -> bool:
    """Say the rule for names of teams once more, in other words."""
    plain = string.ascii_lowercase + string.digits
    return 0 < len(text) <= 64 and text[0] in plain and all(sign in plain + "_-" for sign in text)


def fit_for_a_member(text: str) -> bool:
    """Say the rule for names of members once more: letters and digits of any script, in normal form."""
    if not 0 < len(text) <= 64 or unicodedata.normalize("NFKC", text) != text:
        return False
    if text != text.lower() and text.lower() in RESERVED:
        return False
    kinds = ["_" if sign in "_-" else unicodedata.category(sign) for sign in text]
    return kinds[0][0] in "LN" and all(kind[0] in "LMN_" and kind not in ("Nl", "No") for kind in kinds)


REFUSED = [text for text in NAUGHTY if not fit_for_a_member(text)]


def test_the_list_is_long_and_mostly_no_names() -> None:
    assert len(NAUGHTY) >= 150
    assert len(REFUSED) >= 140


@pytest.mark.parametrize("prefix", ["mail/", "log/", "", "mail", "mail/bob/", "mail//"])
async def test_no_naughty_string_becomes_a_stream(store: JsonlStore, tmp_path: Path, prefix: str) -> None:
    before = tree(tmp_path)
    for text in REFUSED:
        with pytest.raises(BadName):
            await store.append(prefix + text, letter(1))
        with pytest.raises(BadName):
            await store.read(prefix + text)
        with pytest.raises(BadName):
            await store.changed({prefix + text: 0})
    assert tree(tmp_path) == before


async def test_no_naughty_string_becomes_a_seat_or_a_team(store: JsonlStore, tmp_path: Path) -> None:
    before = tree(tmp_path)
    for text in REFUSED:
        for seat in (text, f"calls/{text}", f"{text}/0"):
            with pytest.raises(BadName):
                store.hold(seat, "me")
    for text in NAUGHTY:
        if not well_formed(text):
            with pytest.raises(BadName):
                JsonlStore.open(tmp_path / "workspace", text, create=True)
    assert tree(tmp_path) == before


async def test_words_that_only_look_naughty_are_names_like_others(store: JsonlStore, workspace: Path) -> None:
    names = [text for text in NAUGHTY if fit_for_a_member(text)]
    for ordinal, name in enumerate(names):
        assert await store.append(mail(name), letter(ordinal, name)) == [1]
    files = {path.name for path in (workspace / ".teams/team").glob("*_inbox.jsonl")}
    assert files == {f"{name}_inbox.jsonl" for name in names}


@pytest.mark.behaviour("M4", "M5")
async def test_every_naughty_string_is_kept_as_it_is(store: JsonlStore, workspace: Path) -> None:
    bodies = [
        {**letter(ordinal, text), "summary": text, "deep": [{"key " + text: [text, text + text]}]}
        for ordinal, text in enumerate(NAUGHTY)
    ]
    numbers = [number for body in bodies for number in await store.append("mail/bob", body)]
    assert numbers == list(range(1, len(NAUGHTY) + 1))
    want = [replaced_in(body) for body in bodies]
    other = JsonlStore.open(workspace, "team")
    assert await other.read("mail/bob") == [Record(number, body) for number, body in enumerate(want, 1)]
    other.close()
    contents = independent_reader.look(workspace / INBOX)
    assert (contents.bodies, contents.numbers, contents.bad) == (want, numbers, [])


def replaced_in(body: dict[str, object]) -> dict[str, object]:
    return {key: replaced(value) for key, value in body.items()}


def replaced(value: object) -> object:
    """Return a value with lone surrogates replaced, pairs of them joined."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [replaced(child) for child in value]
        case dict():
            return {replaced(key): replaced(child) for key, child in value.items()}
    return value


@pytest.mark.parametrize("text", ["x" * 2**20, "\u20ac" * (RECORD_CAP // 3), "\0" * (RECORD_CAP // 5)])
async def test_a_record_above_the_cap_is_refused_and_leaves_no_file(
    store: JsonlStore, tmp_path: Path, text: str
) -> None:
    before = tree(tmp_path)
    with pytest.raises(TooLarge):
        await store.append("mail/bob", letter(1, text))
    assert tree(tmp_path) == before


async def test_a_record_at_the_cap_is_kept(store: JsonlStore) -> None:
    room = RECORD_CAP - len('{"type":"message","content":"","run":"r","ord":1}')
    with pytest.raises(TooLarge):
        await store.append("mail/bob", letter(1, "x" * (room + 1)))
    body = letter(1, "x" * room)
    assert await store.append("mail/bob", body) == [1]
    assert await store.read("mail/bob") == [Record(1, body)]


# -- things that stand where a file or folder of ours belongs ---------------------------------------------


def link_to_file(path: Path) -> None:
    path.symlink_to(path.parents[path.parts[::-1].index("workspace")] / "outside" / "file")


def link_to_nothing(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def link_to_folder(path: Path) -> None:
    path.symlink_to(path.parents[path.parts[::-1].index("workspace")] / "outside")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def bound_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


NO_FILES = [link_to_file, link_to_nothing, link_to_folder, pipe, folder, bound_socket]
Place = Callable[[Path], None]


@pytest.mark.parametrize("place", NO_FILES)
async def test_what_is_no_file_is_not_taken_for_a_stream(store: JsonlStore, workspace: Path, place: Place) -> None:
    place(workspace / INBOX)
    with pytest.raises(StoreCorrupt, match=r"bob_inbox\.jsonl"):
        await store.append("mail/bob", letter(1))
    with pytest.raises(StoreCorrupt, match=r"bob_inbox\.jsonl"):
        await store.read("mail/bob")
    assert (workspace.parent / "outside/file").read_text() == "untouched"
    assert await store.append("mail/alice", letter(2)) == [1]


@pytest.mark.parametrize("place", NO_FILES)
async def test_what_is_no_file_is_not_taken_for_the_lock(store: JsonlStore, workspace: Path, place: Place) -> None:
    place(workspace / ".teams/team/.lock")
    with pytest.raises(StoreCorrupt, match=r"team/\.lock"):
        await store.append("mail/bob", letter(1))
    assert (workspace.parent / "outside/file").read_text() == "untouched"


@pytest.mark.parametrize("place", NO_FILES)
async def test_what_is_no_file_is_not_taken_for_a_seat(store: JsonlStore, workspace: Path, place: Place) -> None:
    place(workspace / ".teams/team/bob.seat")
    with pytest.raises(StoreCorrupt, match=r"bob\.seat"):
        async with store.hold("bob", "me"):
            pass
    assert (workspace.parent / "outside/file").read_text() == "untouched"


@pytest.mark.parametrize("place", [link_to_file, link_to_nothing, link_to_folder, pipe, bound_socket])
@pytest.mark.parametrize("at", [".teams", ".tasks", ".teams/other", ".tasks/other"])
async def test_what_is_no_folder_is_not_taken_for_a_team(tmp_path: Path, place: Place, at: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("untouched")
    workspace = tmp_path / "workspace"
    (workspace / at).parent.mkdir(parents=True)
    place(workspace / at)
    before = tree(tmp_path / "outside")
    for create in (True, False):
        with pytest.raises(UnsafeFolder, match=re.escape(at) if create else "other|" + re.escape(at)):
            JsonlStore.open(workspace, "other", create=create)
    assert tree(tmp_path / "outside") == before


@pytest.mark.parametrize("place", [link_to_file, link_to_nothing, link_to_folder, pipe])
async def test_what_is_no_folder_is_not_taken_for_one_inside_a_team(
    store: JsonlStore, workspace: Path, place: Place
) -> None:
    for name in ("subagents", "calls"):
        place(workspace / ".teams/team" / name)
    with pytest.raises(UnsafeFolder, match="subagents"):
        await store.append("mail/bob:1.0", letter(1))
    with pytest.raises(UnsafeFolder, match="calls"):
        async with store.hold("calls/0", "me"):
            pass
    assert [path.name for path in (workspace.parent / "outside").iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("at", [".teams", ".teams/team", ".tasks/team"])
async def test_a_folder_of_someone_else_is_refused(workspace: Path, at: str) -> None:
    os.chown(workspace / at, 65534, 65534)
    with pytest.raises(UnsafeFolder, match=f"{at} belongs to user 65534"):
        JsonlStore.open(workspace, "team")


async def test_folders_and_files_are_private_also_where_they_were_not(workspace: Path) -> None:
    for at in (".teams", ".teams/team", ".tasks", ".tasks/team"):
        (workspace / at).chmod(0o777)
    store = JsonlStore.open(workspace, "team")
    await store.append("mail/bob", letter(1))
    async with store.hold("bob", "me"):
        pass
    store.close()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (workspace / ".teams").rglob("*")}
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
    assert stat.S_IMODE((workspace / ".tasks/team").stat().st_mode) == 0o700


async def test_foreign_files_in_the_folder_are_let_be(store: JsonlStore, workspace: Path) -> None:
    team = workspace / ".teams/team"
    (team / "bob_inbox.jsonl~").write_text("an editor's copy")
    (team / ".bob_inbox.jsonl.swp").write_text("\0")
    (team / "notes").mkdir()
    (team / "notes" / "alice_inbox.jsonl").write_text("no stream")
    before = tree(team)
    assert await store.append("mail/bob", letter(1)) == [1]
    assert await store.read("mail/bob") == [Record(1, letter(1))]
    assert await store.read("mail/alice") == []
    assert before.items() <= tree(team).items()


# -- mounts ------------------------------------------------------------------------------------------------

MOUNT = "36 25 0:32 / {point} rw,relatime shared:1 - nfs4 host:/x rw,vers=4.2,{option},addr=10.0.0.1\n"
ROOT = "25 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"


@pytest.mark.parametrize("option", ["nolock", "local_lock=all", "local_lock=flock", "nobrl"])
async def test_a_mount_whose_locks_others_do_not_see_is_refused(tmp_path: Path, option: str) -> None:
    spaced = tmp_path / "with space"
    spaced.mkdir()
    for workspace in (tmp_path, spaced):
        mountinfo = tmp_path / "mountinfo"
        mountinfo.write_text(ROOT + MOUNT.format(point=str(workspace).replace(" ", "\\040"), option=option))
        with pytest.raises(UnsafeFolder, match=option):
            refuse_local_locks(workspace, mountinfo)
        with pytest.raises(UnsafeFolder, match=option):
            refuse_local_locks(workspace / "below", mountinfo)


@pytest.mark.parametrize(
    "mounts",
    [
        ROOT,
        ROOT + MOUNT.format(point="{here}", option="local_lock=none"),
        ROOT + MOUNT.format(point="{here}-beside", option="nolock"),
        MOUNT.format(point="/", option="nolock") + MOUNT.format(point="{here}", option="local_lock=none"),
        ROOT + MOUNT.format(point="{here}", option="nolock") + MOUNT.format(point="{here}", option="hard"),
    ],
)
async def test_a_mount_with_shared_locks_is_taken(tmp_path: Path, mounts: str) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(mounts.replace("{here}", str(tmp_path)))
    refuse_local_locks(tmp_path, mountinfo)
