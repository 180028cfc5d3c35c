"""`deskmate` in a process of its own, without the half second that Python takes to import it.

One warm process per test process has everything imported. It forks for each run, and the fork goes on as `deskmate`:
with its own arguments, folder, environment, pipes and exit code. Tests of signals, terminals or the start itself begin
`python -m deskmate` instead.

    python -m tests.warm_program SOCKET      be the warm process, at the inherited socket of that number
"""

import atexit
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
WARM = (
    "deskmate.faces.cli.main",
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


def run_deskmate(
    args: Sequence[str], *, folder: Path, env: Mapping[str, str], stdin: bytes = b"", seconds: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run `deskmate` to its end. Raises TimeoutError if that takes too long."""
    warm = _warm_process()
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    request = json.dumps({"args": list(args), "folder": str(folder), "env": dict(env)}).encode()
    socket.send_fds(warm, [len(request).to_bytes(4, "big") + request], [read_in, write_out, write_err])
    for given in (read_in, write_out, write_err):
        os.close(given)
    with ThreadPoolExecutor(3) as threads:
        out, err = threads.submit(_read, read_out), threads.submit(_read, read_err)
        threads.submit(_write, write_in, stdin).result(seconds)
        warm.settimeout(seconds)
        code = int.from_bytes(warm.recv(4), "big", signed=True)
        return subprocess.CompletedProcess(list(args), code, out.result(seconds), err.result(seconds))


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


def warm_up() -> None:
    """Import all that a run imports, and build the models of pydantic that are built when first used."""
    for module in WARM:
        importlib.import_module(module)
    models = BaseModel.__subclasses__()
    while models:
        model = models.pop()
        model.model_rebuild(raise_errors=False)
        models += model.__subclasses__()
    # The forks share what is there now. To collect garbage in it would be to copy it.
    gc.freeze()


def serve(asked: socket.socket) -> list[str] | None:
    """Fork for each request. Return its arguments in the fork, and None in the warm process once nobody asks."""
    while True:
        head, files, _, _ = socket.recv_fds(asked, 4, 3)
        if not head:
            return None
        request = json.loads(asked.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if not pid:
            asked.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["env"])
            args: list[str] = request["args"]
            return args
        for file in files:
            os.close(file)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        asked.send(code.to_bytes(4, "big", signed=True))


if __name__ == "__main__":
    warm_up()
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    if wanted is not None:
        from deskmate.faces.cli.main import main

        sys.argv = ["deskmate", *wanted]
        sys.exit(main())
