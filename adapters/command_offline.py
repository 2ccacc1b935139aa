"""How a command is kept from the network on this machine, and whether that can be had at all."""

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE

from checkrein.errors import EnvironmentFault

_PROBE_S = 10.0
# A user namespace first: unlike root in the plain way, root in it cannot join another network.
_WAYS = (
    ("--user", "--map-root-user", "--net", "--"),
    ("--net", "--"),
)


async def find_offline(path: str) -> tuple[str, ...]:
    """The words to put before a command, so that it has a network of its own with nobody in it.

    Each way is tried, and believed only if the network namespace really is another one.

    Args:
        path: the PATH on which `unshare` is looked for.

    Raises:
        EnvironmentFault: offline_unavailable, naming what is missing.
    """
    if sys.platform != "linux":
        raise _unavailable("network namespaces are a part of Linux, and this is another system")
    program = await asyncio.to_thread(shutil.which, "unshare", path=path)
    if program is None:
        raise _unavailable(f"the program unshare (of util-linux) is not in {path}")
    ours = await asyncio.to_thread(os.readlink, "/proc/self/ns/net")
    faults: list[str] = []
    for way in _WAYS if os.geteuid() == 0 else _WAYS[:1]:
        wrapper = (program, *way)
        code, out, err = await _probe([*wrapper, "readlink", "/proc/self/ns/net"], path)
        if code == 0 and out.startswith("net:") and out != ours:
            return wrapper
        faults.append(f"unshare {' '.join(way[:-1])} says: {err or f'exit {code}'}")
    raise _unavailable("; ".join(faults))


async def _probe(argv: list[str], path: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *argv, env={"PATH": path, "LANG": "C"}, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(_PROBE_S):
            out, err = await process.communicate()
    except TimeoutError:
        return None, "", f"no answer within {_PROBE_S:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = (out.decode("utf-8", "replace").strip(), err.decode("utf-8", "replace").strip())
    return process.returncode, *said


def _unavailable(why: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"A command cannot be run without a network here: {why}. Install util-linux and allow "
        "user namespaces, run as root, or take `network: none` out of the task.",
        op="command.offline",
        code="offline_unavailable",
    )
