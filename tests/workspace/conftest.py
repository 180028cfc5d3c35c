"""A workspace with a secret beside it that nothing may reach."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.workspace.escapes.escape_ground import ROOT

Make = Callable[..., LocalWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, and beside it a folder with a secret."""
    for folder in ("ws", "outside"):
        (tmp_path / folder).mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"SECRET")
    return tmp_path / "ws"


@pytest.fixture
def sandbox() -> Sandbox | None:
    """None here: modules whose commands must behave the same in a sandbox have this in both ways."""
    return None


@pytest.fixture
def make(root: Path, sandbox: Sandbox | None) -> Make:
    """Make a workspace in which what does not end when asked is killed soon."""

    def make_one(**options: object) -> LocalWorkspace:
        chosen = {"environ": os.environ, "grace_seconds": 0.3, "sandbox": sandbox, **options}
        return LocalWorkspace(root, "main", "lead", **chosen)  # type: ignore[arg-type]

    return make_one


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Sandbox:
    """A sandbox that holds."""
    return known_to_hold(find_sandbox(tmp_path / "state", environ=os.environ))


def known_to_hold(found: Sandbox) -> Sandbox:
    """Return a sandbox that holds; where the machine can have none, the test is skipped, in CI it fails."""
    if found.level is not Level.BUBBLEWRAP and not os.environ.get("CI"):
        pytest.skip(found.reason)
    assert found.level is Level.BUBBLEWRAP, found.reason
    return found


@pytest.fixture
def landlock(tmp_path: Path) -> Sandbox:
    """The second choice; where the machine can have none, the test is skipped and says why."""
    found = find_sandbox(tmp_path / "state", programs=[], environ=os.environ)
    if found.level is not Level.LANDLOCK:
        pytest.skip(found.reason)
    return found


@pytest.fixture
def workspace(make: Make) -> LocalWorkspace:
    return make()


@pytest.fixture
def parent() -> Iterator[Path]:
    """A folder that everybody may use, outside the temporary folders, which a sandbox hides."""
    with open_folder() as folder:
        yield folder


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Lend a folder that everybody may use, outside the temporary folders; skip where there can be none."""
    # The commands of these tests name files there without quotes.
    places = [place for place in (ROOT / ".bench", Path("/srv"), Path("/opt")) if " " not in str(place)]
    within = next(filter(is_of_use, places), None)
    if within is None:
        pytest.skip("there is no folder outside /tmp that can be written, and reached by another user")
    folder = _made_in(within)
    folder.chmod(0o777)
    yield folder
    # Deeper than Python can follow.
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    if within == ROOT / ".bench":
        # It stays while somebody else is at work in it.
        with contextlib.suppress(OSError):
            within.rmdir()


def _made_in(within: Path) -> Path:
    """Make a folder in another; who else is at work there may remove that in between."""
    while True:
        within.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            return Path(tempfile.mkdtemp(prefix="escapes-", dir=within))


def is_of_use(place: Path) -> bool:
    """Tell whether a folder can be written and, by whom root becomes, be reached. A sandbox hides temporary ones."""
    if any(place.resolve().is_relative_to(hidden) for hidden in ("/tmp", "/var/tmp", "/dev/shm", "/run")):
        return False
    there = place if place.exists() else place.parent
    reached = os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (there, *there.parents))
    return os.access(there, os.W_OK) and reached
