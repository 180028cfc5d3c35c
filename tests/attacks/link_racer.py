"""Swap files and folders for links, as fast as the machine can: `python link_racer.py ARENA COUNTER NAME…`.

A process of its own, so that it swaps while a thread of ours stands between two calls of the kernel.
"""

import contextlib
import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

_HERE = -100
_SWAP = 2
_LIBC = ctypes.CDLL(None)
CANARY = "canary-5c1d"
INSIDE = "inside"
OURS = ".teams/main/blobs"


def lay(arena: Path) -> None:
    """Lay out a workspace, a folder outside with canaries in names and contents, and the links that lead there."""
    root, outside = arena / "ws", arena / "outside"
    for folder in ("ws/d", "ws/top/d", f"ws/{OURS}", "ws/.spare", "outside/d", "outside/blobs"):
        (arena / folder).mkdir(parents=True)
    for name in ("d/secret", "top/d/secret", "f", "h", ".spare/plain", f"{OURS}/lead-1-0.txt", f"{OURS}/lead-2-0.txt"):
        (root / name).write_text(f"{INSIDE}\n")
    for name in ("secret", "d/secret", f"{CANARY}-name", f"d/{CANARY}-name", "lead-1-0.txt"):
        (outside / name).write_text(f"{CANARY}\n")
    (outside / "hard").write_text("linked\n")
    for name, target in (("d", ""), ("top", ""), ("f", "secret"), ("blobs", ""), ("blob", "secret")):
        (root / ".spare" / name).symlink_to(outside / target)


def exchange(one: str, other: str) -> None:
    """Let two names change places, in one step where the system can."""
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(_LIBC, "renameat2"):
        failed = _LIBC.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
    elif hasattr(_LIBC, "renamex_np"):
        failed = _LIBC.renamex_np(*names, _SWAP)
    else:
        failed = -1
    if failed:
        with contextlib.suppress(OSError):
            os.rename(one, ".spare/between")
            os.rename(other, one)
            os.rename(".spare/between", other)


def relink() -> None:
    """Let `h` be a file of the workspace, then one that also lies outside."""
    for target in (".spare/plain", "../outside/hard"):
        with contextlib.suppress(OSError):
            os.link(target, ".spare/next")
            os.rename(".spare/next", "h")


def swapping(one: str, other: str) -> Callable[[], None]:
    return lambda: exchange(one, other)


DEEDS = {
    "d": swapping("d", ".spare/d"),
    "top": swapping("top", ".spare/top"),
    "f": swapping("f", ".spare/f"),
    "blobs": swapping(OURS, ".spare/blobs"),
    "blob": swapping(f"{OURS}/lead-2-0.txt", ".spare/blob"),
    "h": relink,
}


def main(arena: str, counter: str, *names: str) -> None:
    os.chdir(f"{arena}/ws")
    deeds = [DEEDS[name] for name in names]
    with open(counter, "r+b") as file, mmap.mmap(file.fileno(), 8) as count:
        done = 0
        while True:
            # Now one after the other, now one of them many times over, so that no rhythm is safe from it.
            for deed in (*deeds, *[deeds[done % len(deeds)]] * 50):
                deed()
                done += 1
            count[:] = done.to_bytes(8, "little")


if __name__ == "__main__":
    main(*sys.argv[1:])
