"""The words for bubblewrap: what a sandboxed command sees, and as whom it runs."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.command_groups import Groups
from checkrein.ports.command_runner import Confinement

WORKSPACE = "/workspace"
"""Where a sandboxed command finds its own folder."""

_INSIDE = Path(__file__).with_name("command_inside.py")
_TOPS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "mime.types",
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
)
_ETC_NETWORK = ("resolv.conf", "hosts", "services", "protocols")
_NAMES = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"
_FOLDERS = ("/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls", "/etc/pki/ca-trust", "/home", "/mnt")
_MAPPED_USER = 1000
_OPEN_FILES = 4096


@dataclass(frozen=True)
class Inside:
    """One command as it will be inside.

    Attributes:
        cwd: where it starts, inside.
        user: whom a root caller's command runs as; None where bubblewrap maps the caller itself.
    """

    argv: list[str]
    cwd: str
    user: int | None
    confinement: Confinement
    groups: Groups

    def order(self) -> dict[str, object]:
        """What command_inside.py reads."""
        limits = {"RLIMIT_NOFILE": _OPEN_FILES}
        if self.groups.pids is None:
            limits["RLIMIT_NPROC"] = self.confinement.processes
        if self.groups.memory is None and self.confinement.memory_bytes is not None:
            limits["RLIMIT_AS"] = self.confinement.memory_bytes
        return {"argv": self.argv, "cwd": self.cwd, "user": self.user, "limits": limits}


def inside_words(inside: Inside, scratch: Path, *seccomp: int) -> list[str]:
    """All arguments of bubblewrap but its name.

    Args:
        inside: the command.
        scratch: the command's own folder on this machine, into which files are written.
        seccomp: the descriptor of a filter, where there is one.
    """
    tmp_bytes = str(inside.confinement.tmp_bytes)
    sized = ("--size", tmp_bytes, "--tmpfs")
    words = [*_namespaces(inside), *_system(), *_etc(inside, scratch)]
    words += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", *sized, "/dev/shm"]  # noqa: S108 - its own
    words += ["--perms", "1777", *sized, "/tmp"]  # noqa: S108 - the sandbox's own
    words += ["--perms", "0777", *sized, "/home/sandbox"]
    words += _python()  # which may lie below one of those
    if inside.confinement.writable is not None:
        words += ["--bind", str(inside.confinement.writable), WORKSPACE]
    for mount in inside.confinement.mounts:
        words += ["--bind" if mount.writable else "--ro-bind", str(mount.source), mount.target]
    words += ["--perms", "0755", "--dir", "/checkrein"]
    words += ["--ro-bind", str(_INSIDE), "/checkrein/inside.py"]
    words += ["--ro-bind", str(scratch / "inside.json"), "/checkrein/order.json"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/"]
    for number in seccomp:
        words += ["--seccomp", str(number)]
    # The supervisor puts in the number of the pipe.
    words += ["--", sys.executable, "-I", "-S"]
    return [*words, "/checkrein/inside.py", "@report", "/checkrein/order.json"]


def _namespaces(inside: Inside) -> list[str]:
    words = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1"]
    if inside.confinement.network == "none":
        words.append("--unshare-net")
    words += ["--cap-drop", "ALL"]
    if inside.user is not None:
        # Process 1 alone keeps these two, with which it becomes the command's user.
        return [*words, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    mapped = str(_MAPPED_USER)
    return [*words, "--unshare-user", "--uid", mapped, "--gid", mapped]


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for top in _TOPS:
        if os.path.islink(top):
            words += ["--symlink", os.readlink(top), top]
        elif os.path.isdir(top):
            words += ["--ro-bind", top, top]
    return words


def _python() -> list[str]:
    """This Python and its environment, at the places that their own files name."""
    words: list[str] = []
    for place in dict.fromkeys((sys.base_prefix, sys.prefix)):
        if not place.startswith("/usr/") and place != "/usr":
            for parent in reversed(Path(place).parents[:-1]):
                words += ["--perms", "0755", "--dir", str(parent)]
            words += ["--ro-bind", place, place]
    return words


def _etc(inside: Inside, scratch: Path) -> list[str]:
    words: list[str] = []
    for folder in _FOLDERS:
        words += ["--perms", "0755", "--dir", folder]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    user = _MAPPED_USER if inside.user is None else inside.user
    made = {
        "passwd": f"sandbox:x:{user}:{user}:sandbox:/home/sandbox:/bin/sh\n",
        "group": f"sandbox:x:{user}:\n",
        "nsswitch.conf": _NAMES,
    }
    if inside.confinement.network == "host":
        for name in _ETC_NETWORK:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    else:
        made["hosts"] = "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"
    for name, text in made.items():
        (scratch / name).write_text(text, encoding="ascii")
        (scratch / name).chmod(0o644)
        words += ["--ro-bind", str(scratch / name), f"/etc/{name}"]
    return words
