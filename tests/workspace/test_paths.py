"""Where paths lead, and that none leads out."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.paths import MAX_LINKS, Outside, is_ours, resolved

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(root: Path) -> Path:
    """A folder with links of every kind."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").write_bytes(b"inside")
    (root / ".teams" / "main" / "blobs").mkdir(parents=True)
    (root / ".teams" / "main" / "roster.jsonl").write_bytes(b"SECRET")
    (root / ".teams" / "main" / "blobs" / "bob-1-0.txt").write_bytes(b"SECRET")
    (root / ".teams" / "main" / "blobs" / "lead-1-0.txt").write_bytes(b"inside")
    (root / ".tasks" / "main").mkdir(parents=True)
    (root / ".tasks" / "main" / "board.jsonl").write_bytes(b"SECRET")
    links = {
        "up": "..",
        "out": "../outside",
        "absolute-out": str(root.parent / "outside"),
        "absolute-in": str(root / "a" / "file"),
        "round": "../ws/a/file",
        "teams": ".teams",
        "roster": "a/../.teams/main/roster.jsonl",
        "board": str(root / ".tasks" / "main" / "board.jsonl"),
        "a/up": "../../outside/secret",
        "a/back": "../a/b/../file",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "dangling": "a/new",
        "dangling-out": "../outside/new",
        ".teams/main/blobs/lead-9-0.txt": "../roster.jsonl",
        ".teams/main/blobs/lead-9-1.txt": "bob-1-0.txt",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


OUT = [
    "..",
    "../outside/secret",
    "a/../../outside/secret",
    "a/b/../../../outside/secret",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/root/etc/passwd",
    "out/secret",
    "./out//secret",
    "absolute-out/secret",
    "up/outside/secret",
    "a/up",
    "missing/../../outside/secret",
    "a/file/../../../outside/secret",
    "dangling-out",
    "../ws-other/secret",
    "../../../../../../../../etc/passwd",
]
OURS = [
    ".teams/main/roster.jsonl",
    ".tasks/main/board.jsonl",
    "./a/../.teams/main/roster.jsonl",
    "teams/main/roster.jsonl",
    "roster",
    "board",
    ".TEAMS/main/roster.jsonl",
    ".teams/main/blobs/bob-1-0.txt",
    ".teams/main/blobs/lead-9-0.txt",
    ".teams/main/blobs/lead-9-1.txt",
    ".teams/main/blobs/../roster.jsonl",
    ".teams/main/blobs/lead-missing/../../roster.jsonl",
    ".teams",
    ".tasks/new",
]


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("path", OUT)
async def test_what_leads_out_is_refused_by_name(tree: Path, workspace: LocalWorkspace, path: str) -> None:
    for attempt in (
        workspace.read(path),
        workspace.write(path, b"x", known=None),
        workspace.search("SECRET", path, ""),
        workspace.blob(path),
    ):
        with pytest.raises(Outside, match="outside the workspace") as refused:
            await attempt
        assert str(refused.value).startswith(path)
    assert sorted(os.listdir(tree.parent / "outside")) == ["secret"]
    resolved_path, inside = await workspace.locate(path)
    assert (resolved_path, inside) == (os.path.realpath(tree / path), False)


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("path", OURS)
async def test_the_records_of_the_team_are_refused(tree: Path, workspace: LocalWorkspace, path: str) -> None:
    for attempt in (
        workspace.read(path),
        workspace.write(path, b"x", known=None),
        workspace.search("SECRET", path, ""),
    ):
        with pytest.raises(ToolError, match="the team's own records"):
            await attempt


READ_UNDER_ANOTHER_NAME = """
import anyio, os, sys
from pathlib import Path
from deskmate.workspace.local_workspace import LocalWorkspace

workspace = LocalWorkspace(Path(sys.argv[1]), "main", "lead", environ=os.environ)
print(anyio.run(workspace.read, "a/b/main/roster.jsonl"))
"""


@pytest.mark.behaviour("tools-safety")
def test_a_folder_of_ours_is_known_under_another_name(tree: Path) -> None:
    mount = f"mount --bind '{tree}/.teams' '{tree}/a/b'"
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        subprocess.run([*unshare, mount], check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("mounts of one's own are not allowed here: a folder has no other name")
    words = [*unshare, f'{mount} && exec "$@"', "sh", sys.executable, "-c", READ_UNDER_ANOTHER_NAME, str(tree)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "belongs to the team's own records" in done.stderr


async def test_own_blobs_can_be_read_and_never_written(tree: Path, workspace: LocalWorkspace) -> None:
    path = ".teams/main/blobs/lead-1-0.txt"
    assert await workspace.read(path) == b"inside"
    assert await workspace.blob(path) == b"inside"
    with pytest.raises(ToolError, match="the team's own records"):
        await workspace.write(path, b"x", known=None)


@pytest.mark.parametrize("path", ["a/file", "absolute-in", "round", "a/back", "a/./b/..//file", "up/ws/a/file"])
async def test_what_leads_in_is_read(tree: Path, workspace: LocalWorkspace, path: str) -> None:
    assert await workspace.read(path) == b"inside"
    assert await workspace.read(str(tree / path)) == b"inside"
    assert await workspace.locate(path) == ("a/file", True)


async def test_what_is_not_there_yet_is_located_as_far_as_it_is(tree: Path, workspace: LocalWorkspace) -> None:
    assert await workspace.locate("dangling") == ("a/new", True)
    assert await workspace.locate("a/x/../y/z") == ("a/y/z", True)
    assert await workspace.locate("a/file/x") == ("a/file/x", True)
    assert await workspace.locate("") == (".", True)
    assert await workspace.locate("a/..") == (".", True)


@pytest.mark.parametrize("path", ["loop", "loop/x", "ping", "pong/../a/file"])
async def test_links_that_go_round_are_refused(tree: Path, workspace: LocalWorkspace, path: str) -> None:
    with pytest.raises(ToolError, match="more than 40 links"):
        await workspace.read(path)


async def test_links_are_followed_up_to_the_cap(tree: Path, workspace: LocalWorkspace) -> None:
    for number in range(MAX_LINKS):
        (tree / f"n{number}").symlink_to(f"n{number + 1}")
    (tree / f"n{MAX_LINKS}").write_bytes(b"end")
    assert await workspace.read("n0") == b"end"
    (tree / "one-more").symlink_to("n0")
    with pytest.raises(ToolError, match="links"):
        await workspace.read("one-more")


@pytest.mark.parametrize(
    "path", ["a\0b", "\ud800", "x" * 300, "y/" * 3000, "a/\udc80", "new\nline", "-rf", "tab\there", "\u202ex"]
)
async def test_names_that_are_hard_to_bear_are_answered_in_printable_words(
    tree: Path, workspace: LocalWorkspace, path: str
) -> None:
    with pytest.raises(ToolError) as refused:
        await workspace.read(path)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", ["-n", "new\nline", "ümlaut", "sp ace", "\udcff", "$(x)", "*", "back\\slash"])
async def test_odd_names_can_be_written_read_and_searched(root: Path, workspace: LocalWorkspace, name: str) -> None:
    await workspace.write(name, b"needle", known=None)
    assert await workspace.read(name) == b"needle"
    assert (await workspace.search("needle", name, "")).exit == 0
    assert (root / name).read_bytes() == b"needle"


@pytest.mark.parametrize("name", [".teams", ".TEAMS", ".Tasks", ".tea\u200dms", ".ｔeams"])
def test_a_name_that_some_disk_takes_for_ours_is_ours(name: str) -> None:
    assert is_ours(name)


@pytest.mark.parametrize("name", ["teams", ".teams2", ".git", ".team", "tasks"])
def test_other_names_are_not_ours(name: str) -> None:
    assert not is_ours(name)


def test_no_descriptor_is_left_open(tree: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in [*OUT, *OURS, "loop", "a/b/../file", "a/../" * 700]:
        try:
            with resolved(tree, path):
                pass
        except ToolError:
            pass
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


# -- against the kernel's own eyes ----------------------------------------------------------------

NAMES = ["a", "b", "c", "..", ".", "", "ws", "outside", "l0", "l1", "l2", "l3"]
relative = (
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=6).map("/".join).map(lambda path: path.lstrip("/") or ".")
)


def plant(root: Path, links: list[tuple[str, str]]) -> Iterator[None]:
    for folder in ("a", "a/b", "b", "b/c"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    planted = []
    for index, (folder, target) in enumerate(links):
        link = root / folder / f"l{index}"
        link.symlink_to(target.replace("ROOT", str(root)))
        planted.append(link)
    yield
    for link in planted:
        link.unlink()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    links=st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a/b", "b"]),
            st.one_of(relative, relative.map(lambda path: f"ROOT/{path}"), st.just("/etc")),
        ),
        max_size=4,
    ),
    path=st.one_of(relative, relative.map(lambda path: f"ROOT/{path}")),
)
def test_a_path_leads_where_the_kernel_says_or_is_refused(root: Path, links: list[tuple[str, str]], path: str) -> None:
    path = path.replace("ROOT", str(root))
    for _ in plant(root, links):
        real, refusal = Path(os.path.realpath(root / path)), None
        try:
            with resolved(root, path) as place:
                assert root.joinpath(*place.parts) == real
        except ToolError as error:
            refusal = error
        if isinstance(refusal, Outside):
            # One that leads into another folder above the root is not followed back.
            assert not real.is_relative_to(root) or "outside" in f"{path} {links}"
        else:
            assert refusal is None or "links" in str(refusal)
