"""The filter of system calls, taken step by step as the kernel takes it, for every machine it is made for."""

import errno
import struct
from collections.abc import Mapping

import pytest

from deskmate.workspace.sandbox.seccomp import call_filter

ALLOWED = 0x7FFF0000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SOCKET = {"x86_64": 41, "aarch64": 198}
SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
OTHER_ABIS = {"i386": 0x40000003, "arm": 0x40000028}
HIGH = 0xDEADBEEF << 32


def answer(program: bytes, machine: int, number: int, *arguments: int) -> str:
    """Return what a filter says of a call: "allowed", or the name of an error."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, machine, 0, *padded)
    steps, at, value = list(struct.iter_unpack("=HBBI", program)), 0, 0
    # The kernel refuses a program that jumps back, so that this ends.
    while True:
        code, then, otherwise, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                at += then if value == operand else otherwise
            case 0x35:
                at += then if value >= operand else otherwise
            case 0x45:
                at += then if value & operand else otherwise
            case 0x06:
                return "allowed" if operand == ALLOWED else errno.errorcode[operand & 0xFFFF]
            case unknown:
                raise AssertionError(f"the filter has a step of no known kind: {unknown:#x}")


@pytest.fixture(params=list(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def judged(machine: str, calls: Mapping[str, int], *arguments: int, also: tuple[str, ...] = ()) -> str:
    program = call_filter(machine, also=also)
    assert program
    return answer(program, MACHINES[machine], calls[machine], *arguments)


@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "with something in the upper half"])
def test_sockets_of_four_families_can_be_made_and_no_others(machine: str, high: int) -> None:
    expected = dict.fromkeys(range(256), "EAFNOSUPPORT") | dict.fromkeys((1, 2, 10, 16), "allowed")
    assert {family: judged(machine, SOCKET, high | family, 1) for family in expected} == expected


def test_the_first_family_can_be_closed_but_for_pairs(machine: str) -> None:
    program = call_filter(machine, unix=False)
    assert program
    for calls, expected in ((SOCKET, "EAFNOSUPPORT"), (SOCKETPAIR, "allowed")):
        assert answer(program, MACHINES[machine], calls[machine], 1, 1) == expected


def test_a_pair_of_sockets_is_of_the_first_family(machine: str) -> None:
    expected = dict.fromkeys(range(256), "EAFNOSUPPORT") | {1: "allowed"}
    assert {family: judged(machine, SOCKETPAIR, family, 1) for family in expected} == expected


@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "with something in the upper half"])
def test_of_netlink_only_routes_can_be_asked_for(machine: str, high: int) -> None:
    expected = dict.fromkeys(range(32), "EPROTONOSUPPORT") | {0: "allowed"}
    assert {protocol: judged(machine, SOCKET, 16, 3, high | protocol) for protocol in expected} == expected


def test_protocols_of_other_families_are_their_own_matter(machine: str) -> None:
    assert {judged(machine, SOCKET, family, 1, 6) for family in (1, 2, 10)} == {"allowed"}


def test_a_call_that_somebody_closes_is_closed_for_every_family(machine: str) -> None:
    assert {judged(machine, SOCKET, family, 1, also=("socket",)) for family in range(64)} == {"EPERM"}


@pytest.mark.parametrize("other", [*OTHER_ABIS.values(), *MACHINES.values()])
def test_calls_by_the_numbers_of_another_machine_are_not_there(machine: str, other: int) -> None:
    program = call_filter(machine)
    assert program
    expected = "allowed" if other == MACHINES[machine] else "ENOSYS"
    # 102 is socketcall, or harmless, and 1 exits, or writes.
    assert {answer(program, other, number, 1) for number in (1, 102)} == {expected}


def test_calls_of_the_x32_kind_are_not_there() -> None:
    program = call_filter("x86_64")
    assert program
    assert answer(program, MACHINES["x86_64"], 0x40000000 | 41, 1) == "ENOSYS"


def test_what_was_filtered_before_still_is(machine: str) -> None:
    chmod, openat = {"x86_64": 90, "aarch64": 52}, {"x86_64": 257, "aarch64": 56}
    assert [judged(machine, chmod, 0, mode) for mode in (0o755, 0o4755, 0o2755)] == ["allowed", "EPERM", "EPERM"]
    # Flags that make a file, then flags that do not: then a mode means nothing.
    assert [judged(machine, openat, 0, 0, flags, 0o4755) for flags in (0o101, 0)] == ["EPERM", "allowed"]
