"""A ground for escapes: a workspace, and around it all that one may want to reach from there, with canaries.

It lies outside the temporary folders, which a sandbox hides: what is to be attacked must be in sight.
"""

import contextlib
import ctypes
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import anyio

CANARY = "canary-7f3a"
PWNED = "pwned"
ROOT = Path(__file__).parents[3]
_SET_DUMPABLE = 4
_TOP = b"<top>"
_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
_HOME = {
    ".bashrc": "# mine\n",
    ".ssh/id_ed25519": CANARY,
    ".ssh/authorized_keys": "mine\n",
    ".aws/credentials": CANARY,
    ".netrc": CANARY,
    ".bash_history": CANARY,
    ".config/deskmate/settings.toml": f"key = '{CANARY}'\n",
    ".local/state/deskmate/error.log": CANARY,
    ".claude/settings.json": CANARY,
}


def become(user: Sequence[str]) -> None:
    """Become a user, if one is named, once all is imported that this one might not be able to read."""
    anyio.run(_import_all)
    for uid in map(int, user):
        # The clone may be in a home that this user cannot enter, and git refuses to start in such a folder.
        os.chdir("/")
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        # As one that this user has started: what became of another's is kept from its user.
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)


async def _import_all() -> None:
    """Have all that is imported when it is first needed."""


def python() -> str:
    """Return a Python that this user may run."""
    return (
        sys.executable if os.access(sys.executable, os.X_OK) else shutil.which("python3", path=os.defpath) or "python3"
    )


@dataclass(frozen=True)
class Ground:
    """Where everything is, and what was heard by those who listen outside. `silent`: what nobody listens to yet."""

    top: Path
    heard: list[str] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)
    told: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def outside(self) -> Path:
        return self.top / "outside"

    @property
    def workspace(self) -> Path:
        """The folder of the commands. In the place of a tree, `ws` is a link to it."""
        return Path(os.path.realpath(self.top / "ws"))

    @property
    def state(self) -> Path:
        return self.home / ".local/state/deskmate"

    def environ(self) -> Mapping[str, str]:
        """The environment Deskmate runs in: with a key in it, and programs of the workspace first on its path."""
        path = f"{self.workspace}/bin:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "ANTHROPIC_API_KEY": CANARY, "AWS_SECRET_ACCESS_KEY": CANARY}

    def fill(self, command: str) -> str:
        """Return a command with the places of this ground in it."""
        places = {name: str(getattr(self, name)) for name in ("top", "home", "outside", "workspace", "state")}
        for name, value in {**places, **self.told, "python": shlex.quote(python()), "canary": CANARY}.items():
            command = command.replace(f"<{name}>", value)
        return command

    def text(self, path: str) -> str:
        """Return what a file of the ground holds, nothing where there is none."""
        try:
            return (self.top / path).read_text(errors="replace")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return ""

    def listen(self) -> list[str]:
        """Return all that was said to anybody outside."""
        for fd in self.silent:
            os.set_blocking(fd, False)
            with contextlib.suppress(BlockingIOError):
                self.heard.append(os.read(fd, 100).decode(errors="replace").strip())
        return self.heard

    def git(self, folder: str, *words: str) -> None:
        """Run git outside, as a user would, whatever it then runs."""
        who = ("-c", "user.name=u", "-c", "user.email=u@example.org")
        # Not a repository that the ground may lie in: there it would be a real commit.
        environ = {**os.environ, **_GIT, "HOME": str(self.home), "GIT_CEILING_DIRECTORIES": str(self.top)}
        subprocess.run(
            ["git", *who, *words], cwd=self.top / folder, env=environ, capture_output=True, timeout=60, check=False
        )


@contextlib.contextmanager
def ground(parent: Path, *, repository: bool = True) -> Iterator[Ground]:
    """Lay a ground, and leave nothing of it. `repository`: the workspace is one, with a worktree beside it."""
    with contextlib.ExitStack() as stack:
        made = Ground(Path(tempfile.mkdtemp(dir=parent)))
        stack.callback(shutil.rmtree, made.top, ignore_errors=True)
        _lay(made, repository=repository)
        _listen(made, stack)
        sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, "KEY": CANARY})
        stack.callback(sleeper.wait)
        stack.callback(sleeper.send_signal, signal.SIGKILL)
        made.told["sleeper"] = str(sleeper.pid)
        yield made


def _lay(made: Ground, *, repository: bool) -> None:
    for folder in (made.outside, made.workspace / "bin", made.workspace / "src"):
        folder.mkdir(parents=True)
    for name, content in _HOME.items():
        (made.home / name).parent.mkdir(parents=True, exist_ok=True)
        (made.home / name).write_text(content)
    (made.outside / "victim").write_text("mine\n")
    (made.outside / "secret").write_text(CANARY)
    (made.workspace / "src/a.py").write_text("a = 1\n")
    if repository:
        _lay_repository(made)
    for name in (".teams/main/lead.mail.jsonl", ".tasks/main/board.jsonl"):
        (made.workspace / name).parent.mkdir(parents=True)
        (made.workspace / name).write_text(CANARY)


def _lay_repository(made: Ground) -> None:
    for path, (mode, content) in _repository().items():
        if content is None:
            (made.top / path).mkdir()
        else:
            with os.fdopen(os.open(made.top / path, os.O_WRONLY | os.O_CREAT, mode), "wb") as file:
                file.write(content.replace(_TOP, bytes(made.top)))


@cache
def _repository() -> Mapping[str, tuple[int, bytes | None]]:
    """Return what git makes of a workspace with a worktree: modes and contents, None for folders, _TOP for the ground.

    Git takes five processes for that, and many grounds are laid.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = Ground(Path(folder).resolve())
        (made.workspace / "src").mkdir(parents=True)
        (made.workspace / "src/a.py").write_text("a = 1\n")
        for words in (
            ("init", "-q", "."),
            ("config", "extensions.worktreeConfig", "true"),
            ("add", "src"),
            ("commit", "-qm", "first"),
            ("worktree", "add", "-q", "../other"),
        ):
            made.git("ws", *words)
        found = {str(path.relative_to(made.top)): path for path in sorted(made.top.rglob("*"))}
        return {
            name: (path.stat().st_mode & 0o777, _content(path, made.top))
            for name, path in found.items()
            if name not in ("ws", "ws/src", "ws/src/a.py")
        }


def _content(path: Path, top: Path) -> bytes | None:
    return path.read_bytes().replace(bytes(top), _TOP) if path.is_file() else None


def _listen(made: Ground, stack: contextlib.ExitStack) -> None:
    """Listen on everything that a command may reach somebody by."""
    name, temporary = made.top.name, stack.enter_context(tempfile.TemporaryDirectory())
    (made.home / "a/b").mkdir(parents=True)
    for kind, address in (
        ("abstract", f"\0{name}"),
        ("temporary", f"{temporary}/s"),
        ("run", f"/run/{name}"),
        ("at_home", f"{made.home}/a/b/s"),
        ("beside", f"{made.outside}/s"),
    ):
        one = stack.enter_context(socket.socket(socket.AF_UNIX))
        with contextlib.suppress(PermissionError):
            one.bind(address)
            _serve(one, made, stack)
        made.told[kind] = address.removeprefix("\0")
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    datagrams.bind(f"{made.home}/a/d")
    made.told["datagrams"] = f"{made.home}/a/d"
    os.mkfifo(f"{made.home}/a/p")
    made.told["pipe"] = f"{made.home}/a/p"
    pipe = os.open(made.told["pipe"], os.O_RDWR | os.O_NONBLOCK)
    stack.callback(os.close, pipe)
    made.silent.extend((datagrams.fileno(), pipe))
    stack.callback(lambda: Path(f"/run/{name}").unlink(missing_ok=True))
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    made.told["port"] = str(tcp.getsockname()[1])
    _serve(tcp, made, stack)


def _serve(one: socket.socket, made: Ground, stack: contextlib.ExitStack) -> None:
    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = one.accept()
                with caller:
                    made.heard.append(caller.recv(100).decode(errors="replace"))

    one.listen()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    stack.callback(thread.join, 10)
    stack.callback(one.shutdown, socket.SHUT_RDWR)
