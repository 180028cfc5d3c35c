"""`deskmate` in a process of its own, without the half second that Python takes to import it.

One warm process per test process has everything imported. It forks for each run, and the fork goes on as `deskmate`:
with its own arguments, folder, environment, pipes or terminal, and exit code. Tests of the start itself begin
`python -m deskmate` instead, and so do those that set what Python reads at its start, such as PYTHONPATH.

    python -m tests.warm_program SOCKET      be the warm process, at the inherited socket of that number
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
DESKMATE = "deskmate.faces.cli.main"
WARM = (
    DESKMATE,
    "deskmate.faces.cli.root_commands",
    "deskmate.faces.cli.run_command",
    "deskmate.faces.cli.team_commands",
    "deskmate.app.session",
    "deskmate.tools.every_tool",
    "deskmate.models.wires.anthropic",
    "anyio._backends._asyncio",
    "httpcore2",
    "genai_prices.data",
    "genai_prices.data_snapshot",
    "genai_prices.decompose",
    "genai_prices.validation",
    "tree_sitter",
    "tree_sitter_bash",
)
# What only a person at a terminal needs. Forks of a larger process cost more.
TERMINAL = ("deskmate.faces.cli.plain.keyboard", "deskmate.faces.tui.tui_start")


class WarmRun:
    """A run of `deskmate` that was begun, with what tests use of `subprocess.Popen`."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told
        self.pid, self.returncode = int.from_bytes(told.recv(4), "big"), None  # type: int, int | None

    def poll(self) -> int | None:
        """Return the exit code, below zero if it was ended by a signal, or None as long as it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises TimeoutError if that takes too long."""
        code = self._look(timeout)
        if code is None:
            raise TimeoutError(f"it still runs after {timeout} s")
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended. Nobody else has its number until its end was seen here."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
            self.returncode = int.from_bytes(self._told.recv(4), "big", signed=True)
            self._told.close()
        return self.returncode


def begin_deskmate(
    args: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    files: tuple[int, int, int],
    terminal: bool = False,
    umask: int = -1,
    program: str = DESKMATE,
) -> WarmRun:
    """Begin `deskmate` with these files as stdin, stdout and stderr. `terminal`: they are its terminal.

    `umask`: what is taken from the modes of what it makes, below zero as with this process. `program`: the module whose
    `main` runs instead.
    """
    warm = _warm_process()
    ours, its = socket.socketpair()
    request = {"args": list(args), "folder": str(folder), "env": dict(env), "terminal": terminal, "umask": umask}
    text = json.dumps({**request, "program": program}).encode()
    socket.send_fds(warm, [len(text).to_bytes(4, "big") + text], [its.fileno(), *files])
    its.close()
    return WarmRun(ours)


def run_deskmate(
    args: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    seconds: float = 60,
    umask: int = -1,
    program: str = DESKMATE,
    pid_file: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `deskmate`, or another program, to its end. Raises TimeoutError if that takes too long.

    `pid_file`: the file to write its id to.
    """
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    files = (read_in, write_out, write_err)
    run = begin_deskmate(args, folder=folder, env=env, files=files, umask=umask, program=program)
    if pid_file:
        pid_file.write_text(f"{run.pid}\n")
    for given in files:
        os.close(given)
    with ThreadPoolExecutor(3) as threads:
        out, err = threads.submit(_read, read_out), threads.submit(_read, read_err)
        threads.submit(_write, write_in, stdin).result(seconds)
        code = run.wait(seconds)
        return subprocess.CompletedProcess(list(args), code, out.result(seconds), err.result(seconds))


def warm_socket() -> int:
    """Return the number of the socket that a program of `warm_command` must inherit."""
    return _warm_process().fileno()


def warm_command(file: Path) -> None:
    """Write a program that is `deskmate` for a shell, as a run of the warm process."""
    words = [sys.executable, "-ISE", str(ROOT / "tests/warm_handover.py"), str(warm_socket())]
    file.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    file.chmod(0o755)


@cache
def _warm_process() -> socket.socket:
    ours, its = socket.socketpair()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_program", str(its.fileno())],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        pass_fds=[its.fileno()],
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _read(file: int) -> bytes:
    with os.fdopen(file, "rb") as pipe:
        return pipe.read()


def _write(file: int, data: bytes) -> None:
    try:
        with os.fdopen(file, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass  # It ended without reading all of it.


# -- in the warm process ----------------------------------------------------------------------------


def warm_up(*more: str) -> None:
    """Import all that a run imports and `more`, and build the models of pydantic that are built when first used."""
    for module in (*WARM, *more):
        importlib.import_module(module)
    models = BaseModel.__subclasses__()
    while models:
        model = models.pop()
        model.model_rebuild(raise_errors=False)
        models += model.__subclasses__()
    # The forks share what is there now. To collect garbage in it would be to copy it.
    gc.freeze()


def serve(asked: socket.socket) -> tuple[str, list[str]] | None:
    """Fork for each request. Return what to run in the fork, and None in the warm process once nobody asks."""
    keepers = set[int]()
    while True:
        head, given, _, _ = socket.recv_fds(asked, 4, 4)
        # Each ends soon after its run. The last ones are left to the system.
        keepers -= {pid for pid in keepers if os.waitpid(pid, os.WNOHANG)[0]}
        if not head:
            return None
        told, *files = given
        request = json.loads(asked.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        keeper = os.fork()
        if not keeper:
            asked.close()
            if pid := os.fork():
                _see_to_end(pid, told, files)
            os.close(told)
            _become(request, files)
            return request.get("program", DESKMATE), request["args"]
        keepers.add(keeper)
        for file in (told, *files):
            os.close(file)


def _see_to_end(pid: int, told: int, files: list[int]) -> None:
    """Tell the number of a run, then its exit code. Never returns."""
    for file in files:
        os.close(file)
    with socket.socket(fileno=told) as asker:
        asker.send(pid.to_bytes(4, "big"))
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended
        code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        asker.send(code.to_bytes(4, "big", signed=True))
        # Until the asker knows, it may send a signal: nobody else may have the number.
        asker.recv(1)
    os.waitpid(pid, 0)
    os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Have the files, folder and environment of a run."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if request["umask"] >= 0:
        os.umask(request["umask"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])


def _end(code: int) -> None:
    """End as Python does, but leave the memory to the system: to clear it up would be to copy it first."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    warm_up(*TERMINAL)
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    if wanted is not None:
        sys.argv = ["deskmate", *wanted[1]]
        _end(importlib.import_module(wanted[0]).main())
