"""Machines of a small network, as network namespaces of this one, whose cables can be pulled. Needs Linux and root."""

import os
import shutil
import subprocess
import sys
from types import TracebackType
from typing import Self


def can_cut() -> bool:
    """Return whether namespaces can be made here."""
    return sys.platform == "linux" and os.getuid() == 0 and shutil.which("ip") is not None


class CutNetwork:
    """A network of this process, in which this machine has the address `here`. It is gone with the block.

    Nothing outside this machine can be reached from it, and nothing outside can reach it.
    """

    def __init__(self) -> None:
        self._mark = f"{os.getpid() % 0xFFFF:04x}"
        self._prefix = f"10.{192 + os.getpid() % 60}.{os.getpid() // 60 % 250}"
        self._bridge, self._machines = f"dm{self._mark}", dict[str, int]()
        self.here = f"{self._prefix}.1"

    def __enter__(self) -> Self:
        """Make the network."""
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("addr", "add", f"{self.here}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the network. What runs in it must have ended."""
        for name in self._machines:
            _ip("netns", "del", self._space(name))
        _ip("link", "del", self._bridge)

    def add(self, name: str) -> str:
        """Add a machine and return its address."""
        number = self._machines[name] = len(self._machines) + 2
        space, cable = self._space(name), self._cable(name)
        _ip("netns", "add", space)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", cable, "master", self._bridge, "up")
        _ip("-n", space, "addr", "add", f"{self._prefix}.{number}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")
        return f"{self._prefix}.{number}"

    def inside(self, name: str) -> list[str]:
        """Return the words before a command that is to run on a machine."""
        return ["ip", "netns", "exec", self._space(name)]

    def cut(self, name: str) -> None:
        """Pull the cable of a machine: it hears nothing, and is not told."""
        _ip("link", "set", self._cable(name), "down")

    def heal(self, name: str) -> None:
        """Plug the cable in again."""
        _ip("link", "set", self._cable(name), "up")

    def _space(self, name: str) -> str:
        return f"dm{self._mark}-{name}"

    def _cable(self, name: str) -> str:
        return f"dm{self._mark}{self._machines[name]}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
