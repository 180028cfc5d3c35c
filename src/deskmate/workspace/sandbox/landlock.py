"""The kernel's Landlock rights.

The kernel grants rights by path: everything below a folder has the rights of that folder.
"""

import ctypes
import functools
import os
import stat
import struct
from collections.abc import Iterable
from enum import IntFlag

from deskmate.core.values import frozen

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_TELL_VERSION = 1
_BELOW = 1
_NO_NEW_PRIVILEGES, _FILTER_CALLS, _DROP_CAPABILITY = 38, 22, 24
_BY_PROGRAM = 2
_CAPABILITIES_VERSION = 0x20080522
_LAST_CAPABILITY = "/proc/sys/kernel/cap_last_cap"
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


class Right(IntFlag):
    """What may be done at a path, numbered as in the kernel."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    LIST = 1 << 3
    REMOVE = 1 << 4 | 1 << 5
    MAKE_DEVICE = 1 << 6 | 1 << 11
    MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
    MOVE = 1 << 13
    TRUNCATE = 1 << 14
    CONTROL_DEVICE = 1 << 15

    READ = EXECUTE | READ_FILE | LIST
    USE_DEVICE = READ_FILE | WRITE_FILE | TRUNCATE | CONTROL_DEVICE
    WRITE = READ | WRITE_FILE | REMOVE | MAKE | MOVE | TRUNCATE | CONTROL_DEVICE
    OF_FILES = EXECUTE | USE_DEVICE


# The Landlock version that introduced each right. Older versions do not restrict it.
_ALL = Right.WRITE | Right.MAKE_DEVICE
TRUNCATE_SINCE = 3
_SINCE = {Right.MOVE: 2, Right.TRUNCATE: TRUNCATE_SINCE, Right.CONTROL_DEVICE: 5}
_NETWORK_SINCE = 4
SCOPES_SINCE = 6
# Abstract sockets, and signals.
_SCOPES = 3


@frozen
class LandlockRule:
    """A path, and what may be done there and below."""

    path: str
    right: Right


def version() -> int:
    """Return the Landlock version of this kernel, 0 for none."""
    try:
        return max(0, int(_libc().syscall(_CREATE, None, 0, _TELL_VERSION)))
    except (AttributeError, OSError):
        return 0


def restrict(rules: Iterable[LandlockRule], calls: bytes, most: int | None = None) -> None:
    """Restrict this thread, and all it will start, to what the rules grant. Drop all capabilities.

    `calls`: a program that filters system calls. `most`: the latest Landlock version to use. Missing paths are
    skipped. Raises OSError if the kernel refuses. Then the thread must not start anything.
    """
    known = min(version(), most or version())
    handled = _ALL & ~sum(right for right, since in _SINCE.items() if known < since)
    # Landlock does not restrict the network here, because the call filter closes more of it.
    attributes = struct.pack("=QQQ", handled, 0, _SCOPES)
    size = 24 if known >= SCOPES_SINCE else 16 if known >= _NETWORK_SINCE else 8
    ruleset = _done(_libc().syscall(_CREATE, attributes, size, 0))
    try:
        for rule in rules:
            _add(ruleset, rule, handled)
        _done(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _done(_libc().syscall(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)
    if os.geteuid() == 0:
        _drop_capabilities()
    _filter(calls)


def _add(ruleset: int, rule: LandlockRule, handled: Right) -> None:
    try:
        place = os.open(rule.path, _PLACE)
    except OSError:
        # Missing or out of reach, so no right is needed there.
        return
    try:
        right = rule.right & handled
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            right &= Right.OF_FILES
        _done(_libc().syscall(_ADD, ruleset, _BELOW, struct.pack("=Qi", right, place), 0))
    finally:
        os.close(place)


def _drop_capabilities() -> None:
    """Leave root nothing but the rights to files that root owns."""
    with open(_LAST_CAPABILITY) as file:
        last = int(file.read())
    for capability in range(last + 1):
        _done(_libc().prctl(_DROP_CAPABILITY, capability, 0, 0, 0))
    _done(_libc().capset(struct.pack("=Ii", _CAPABILITIES_VERSION, 0), bytes(24)))


def _filter(calls: bytes) -> None:
    held = ctypes.create_string_buffer(calls, len(calls))
    program = struct.pack("@HP", len(calls) // 8, ctypes.addressof(held))
    _done(_libc().prctl(_FILTER_CALLS, _BY_PROGRAM, program, 0, 0))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
