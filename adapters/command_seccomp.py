"""A filter of system calls for sandboxed commands, as the kernel reads it (classic BPF).

What a test or a build needs passes; what widens a command's reach is refused: tracing, mounting,
new namespaces, keys, kernel programs, io_uring (whose calls no filter sees), pushing input into a
terminal, and sockets of families that network namespaces do not cover, such as vsock.
"""

import errno
import struct

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_CLONE_NEW = 0x7E020000  # every CLONE_NEW* flag that clone can carry
_INJECTING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_FAMILIES = (0, 1, 2, 10, 16)  # unspecified, unix, IPv4, IPv6, netlink

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SINCE_5 = {  # the same number everywhere
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
}
# One row for each call: x86_64, aarch64.
_REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
}
_CLONE, _CLONE3 = (56, 220), 435
_IOCTL, _SOCKET = (16, 29), (41, 198)


def filter_for(machine: str) -> bytes | None:
    """The filter for a machine such as `x86_64`; None where there is none for it."""
    if machine not in _ARCHES:
        return None
    column = list(_ARCHES).index(machine)
    program = [
        _step(_LOAD, _ARCH),
        _step(_JUMP_EQUAL, _ARCHES[machine], then=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":  # the same calls under other numbers
        program += [_step(_JUMP_AT_LEAST, _X32, otherwise=1), _refuse(errno.ENOSYS)]
    numbers = [row[column] for row in _REFUSED.values()] + list(_SINCE_5.values())
    for number in numbers:
        program += [_step(_JUMP_EQUAL, number, otherwise=1), _refuse(errno.EPERM)]
    # libraries fall back to clone, whose flags can be seen
    program += [_step(_JUMP_EQUAL, _CLONE3, otherwise=1), _refuse(errno.ENOSYS)]
    program += _when(_CLONE[column], 0, [_step(_JUMP_ANY_BIT, _CLONE_NEW, otherwise=1)])
    for request in _INJECTING:
        program += _when(_IOCTL[column], 1, [_step(_JUMP_EQUAL, request, otherwise=1)])
    known = [
        _step(_JUMP_EQUAL, family, then=len(_FAMILIES) - at) for at, family in enumerate(_FAMILIES)
    ]
    program += _when(_SOCKET[column], 0, known, refusal=errno.EAFNOSUPPORT)
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _when(
    number: int, argument: int, tests: list[bytes], *, refusal: int = errno.EPERM
) -> list[bytes]:
    """For one call, look at the low half of an argument; the tests skip the refusal."""
    body = [_step(_LOAD, _ARGUMENTS + 8 * argument), *tests, _refuse(refusal)]
    # Afterwards the number is loaded again, for the next question.
    return [
        _step(_JUMP_EQUAL, number, otherwise=len(body)),
        *body,
        _step(_LOAD, _NUMBER),
    ]


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
