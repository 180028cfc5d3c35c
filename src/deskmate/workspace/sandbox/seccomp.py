"""System calls a command may not make.

No mount prevents a command from making its own file setuid. Outside, such a file would give the user's rights to
others. What the user's session keeps in the kernel's keyrings is not a file at all. A network namespace does not cover
every socket family: AF_VSOCK reaches the host of a virtual machine, or its guests, from inside any of them. So only the
families that programs need are open.
"""

import errno
import platform
import stat
import struct
from collections.abc import Iterable, Mapping
from dataclasses import field

from deskmate.core.values import frozen

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_REFUSE, _ABSENT = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
_LENT = stat.S_ISUID | stat.S_ISGID
# Only a call that creates a file has a mode. In any other call, that argument means nothing.
_MAKES = 0o100 | 0o20000000
# By number, because Python omits names that its own platform lacks. A socket pair is always AF_UNIX.
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES = (_UNIX, _INET, _INET6, _NETLINK)
# Of netlink, only the part that lists addresses and routes, which looking up a host name needs. Other parts give access
# to devices, audits and the firewall.
_ROUTE = 0


@frozen
class _Calls:
    """The call numbers of one machine. `modes`: which argument is a mode. `opening`: which are the flags and the mode.

    `absent`: reported as missing, because they would bypass the others. All programs work without them. `named`:
    refused on request. Of these, `socket` and `socketpair` are always limited to some families.
    """

    machine: int
    refused: tuple[int, ...]
    absent: tuple[int, ...]
    modes: Mapping[int, int]
    opening: Mapping[int, tuple[int, int]]
    named: Mapping[str, int]
    others: tuple[int, ...] = field(default=())


_KNOWN = {
    # Three for keyrings, and perf_event_open, bpf and userfaultfd, which many exploits used. Then io_uring_setup and
    # openat2. Then all calls that chmod or make a file. Then open and openat.
    "x86_64": _Calls(
        0xC000003E,
        (248, 249, 250, 298, 321, 323),
        (425, 437),
        {90: 1, 91: 1, 85: 1, 133: 1, 259: 2, 268: 2, 452: 2},
        {2: (1, 2), 257: (2, 3)},
        {"socket": 41, "socketpair": 53, "truncate": 76, "shmget": 29, "semget": 64, "msgget": 68},
        others=(0x40000000,),
    ),
    "aarch64": _Calls(
        0xC00000B7,
        (217, 218, 219, 241, 280, 282),
        (425, 437),
        {52: 1, 33: 2, 53: 2, 452: 2},
        {56: (2, 3)},
        {"socket": 198, "socketpair": 199, "truncate": 45, "shmget": 194, "semget": 190, "msgget": 186},
    ),
}


# A filter that allows everything.
ALLOW_ALL = struct.pack("=HBBI", _RETURN, 0, 0, _ALLOW)


def call_filter(machine: str | None = None, *, also: Iterable[str] = (), unix: bool = True) -> bytes | None:
    """Return the filter for this machine, or for a named one. None if its calls are not known here.

    `also`: names of more calls to refuse. `unix`: whether Unix sockets can be created, and not only pairs.
    """
    calls = _KNOWN.get(machine or platform.machine())
    if calls is None:
        return None
    families = _FAMILIES if unix else _FAMILIES[1:]
    return b"".join(_program(calls, tuple(calls.named[name] for name in also), families))


def _program(calls: _Calls, also: tuple[int, ...], families: tuple[int, ...]) -> Iterable[bytes]:
    # A program for another machine uses other numbers. It cannot run here.
    yield from (_load(_MACHINE), _jump(_EQUAL, calls.machine, 1, 0), _return(_ABSENT), _load(_NUMBER))
    for first in calls.others:
        yield from (_jump(_AT_LEAST, first, 0, 1), _return(_ABSENT))
    for numbers, answer in (((*calls.refused, *also), _REFUSE), (calls.absent, _ABSENT)):
        for number in numbers:
            yield from (_jump(_EQUAL, number, 0, 1), _return(answer))
    for number, mode in calls.modes.items():
        yield _jump(_EQUAL, number, 0, 4)
        yield from _unless_lent(mode)
    for number, (flags, mode) in calls.opening.items():
        yield from (_jump(_EQUAL, number, 0, 7), _load(_ARGUMENTS + 8 * flags), _jump(_ANY_OF, _MAKES, 1, 0))
        yield _return(_ALLOW)
        yield from _unless_lent(mode)
    yield from _when(_NUMBER, calls.named["socketpair"], [*_only(0, (_UNIX,), errno.EAFNOSUPPORT), _return(_ALLOW)])
    yield from _when(_NUMBER, calls.named["socket"], [*_sockets(families), _return(_ALLOW)])
    yield _return(_ALLOW)


def _sockets(families: tuple[int, ...]) -> Iterable[bytes]:
    yield from _only(0, families, errno.EAFNOSUPPORT)
    yield from _when(_ARGUMENTS, _NETLINK, [*_only(2, (_ROUTE,), errno.EPROTONOSUPPORT)])


def _when(offset: int, value: int, steps: list[bytes]) -> Iterable[bytes]:
    """Yield steps that run only if the value at this offset matches."""
    yield from (_load(offset), _jump(_EQUAL, value, 0, len(steps)), *steps)


def _only(argument: int, values: tuple[int, ...], error: int) -> Iterable[bytes]:
    """Yield steps that refuse a call unless an argument has one of these values.

    Only its lower half is compared, because the kernel reads these arguments as an int and ignores the rest.
    """
    yield _load(_ARGUMENTS + 8 * argument)
    yield from (_jump(_EQUAL, value, len(values) - number, 0) for number, value in enumerate(values))
    yield _return(_ERROR | error)


def _unless_lent(mode: int) -> Iterable[bytes]:
    return _load(_ARGUMENTS + 8 * mode), _jump(_ANY_OF, _LENT, 0, 1), _return(_REFUSE), _return(_ALLOW)


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _jump(kind: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", kind, then, otherwise, value)


def _return(answer: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, answer)
