"""The filter of system calls, read as the kernel reads it, for machines that are not here too."""

import errno
import struct

import pytest

from checkrein.adapters.command_seccomp import filter_for

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {"read": 0, "ptrace": 101, "mount": 165, "clone": 56, "ioctl": 16, "socket": 41},
    "aarch64": {"read": 63, "ptrace": 117, "mount": 40, "clone": 220, "ioctl": 29, "socket": 198},
}


def answer(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the filter says to one call."""
    program = filter_for(machine)
    assert program is not None
    steps = list(struct.iter_unpack("=HBBI", program))
    packed = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=iIQ6Q", number, ARCHES[machine] if arch is None else arch, 0, *packed)
    at, loaded = 0, 0
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
            continue
        tests = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
        at += then if tests[code] else otherwise


@pytest.mark.parametrize("machine", ARCHES)
def test_what_widens_reach_is_refused_and_the_rest_passes(machine: str) -> None:
    """Protects both machines: a wrong jump would let all pass, or nothing."""
    calls = CALLS[machine]
    refused = ERRNO | errno.EPERM
    assert answer(machine, calls["read"]) == ALLOW
    assert answer(machine, calls["ptrace"]) == refused
    assert answer(machine, calls["mount"]) == refused
    assert answer(machine, 425) == refused  # io_uring_setup
    assert answer(machine, 435) == ERRNO | errno.ENOSYS  # clone3
    assert answer(machine, calls["clone"], 0x11) == ALLOW
    assert answer(machine, calls["clone"], 0x3D0F00) == ALLOW  # a thread
    for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):
        assert answer(machine, calls["clone"], flag | 0x11) == refused
    assert answer(machine, calls["ioctl"], 0, 0x5413) == ALLOW
    assert answer(machine, calls["ioctl"], 0, 0x5412) == refused
    assert answer(machine, calls["ioctl"], 0, 0x541C) == refused
    for family in (1, 2, 10, 16):
        assert answer(machine, calls["socket"], family) == ALLOW
    for family in (17, 38, 40):
        assert answer(machine, calls["socket"], family) == ERRNO | errno.EAFNOSUPPORT
    assert answer(machine, 5000) == ALLOW


def test_other_ways_to_call_are_no_way_round() -> None:
    """Protects against the same calls under other numbers, and of another machine's kind."""
    assert answer("x86_64", 0x40000000 | 101) == ERRNO | errno.ENOSYS
    assert answer("x86_64", 26, arch=0x40000003) == KILL
    assert filter_for("riscv64") is None
