"""The capabilities that read workspace files: workspace.read and workspace.list."""

import asyncio
import os
import stat
from typing import Any

from checkrein.adapters.patch import lines_of
from checkrein.adapters.workspace_calls import (
    ENFORCED,
    MAX_FILE,
    PATH,
    FileCapability,
    closed_object,
    enforce,
    path_of,
    required_text,
)
from checkrein.adapters.workspace_paths import refusal, segments_of
from checkrein.adapters.workspace_swap import ABSENT
from checkrein.adapters.workspace_tree import left_out
from checkrein.contracts.action import Lookup, SideEffect
from checkrein.contracts.codec import digest, digest_of, visible
from checkrein.contracts.context import Trust
from checkrein.errors import CapabilityError
from checkrein.ports.capability import CapabilitySpec, Description, ReadResult

SHOWN = 64 * 1024
"""Most bytes of one file that a model is shown at once."""

MAX_LISTED = 1000
"""Most entries of one folder that a model is shown."""


class ReadFile(FileCapability):
    """workspace.read: a text file, or some of its lines."""

    spec = CapabilitySpec(
        name="workspace.read",
        description=(
            "Read a text file of the workspace. offset is the first line wanted (from 1), limit "
            f"the number of lines; at most {SHOWN // 1024} KiB are shown at once."
        ),
        parameters=closed_object(
            ["path"],
            path=PATH,
            offset={"type": "integer", "minimum": 1, "maximum": 10_000_000},
            limit={"type": "integer", "minimum": 1, "maximum": 100_000},
        ),
        side_effect=SideEffect.READ,
        lookup=Lookup.AUTHORITATIVE,
        enforces=ENFORCED,
        trust=Trust.WORKSPACE,
    )

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Read the lines asked for.

        Raises:
            CapabilityError: the path is refused, no text file, too large, or past its end.
        """
        return await asyncio.to_thread(self._read, args, constraints)

    def _read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        op, path = self.spec.name, str(args["path"])
        segments = segments_of(path, op=op)
        enforce(constraints, segments, 0, op=op)
        data = self._workspace.files.read(segments, op=op, limit=MAX_FILE)
        lines = lines_of(required_text(data, path, op=op))
        first = int(args.get("offset", 1))
        if first > max(len(lines), 1):
            message = f"{path} has {len(lines)} lines; there is no line {first}."
            advice = f"Use an offset of at most {max(len(lines), 1)}."
            raise refusal("past_end", message, op=op, path=path, advice=advice)
        wanted = lines[first - 1 : first - 1 + int(args.get("limit", len(lines) + 1))]
        text, shown = _fitting(wanted)
        enforce(constraints, segments, len(text.encode()), op=op)
        cut = len(text) < sum(map(len, wanted))
        return ReadResult(
            result={
                "path": "/".join(segments),
                "text": text,
                "first_line": first,
                "last_line": first + shown - 1,
                "total_lines": len(lines),
                "total_bytes": len(data),
            },
            version=digest(data),
            truncated=cut,
            original=data if cut else None,
        )


def _fitting(lines: list[str]) -> tuple[str, int]:
    """As many whole lines as may be shown, and how many; of a longer first line its beginning."""
    room, taken = SHOWN, 0
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        taken += 1
    if lines and not taken:
        return lines[0].encode()[:SHOWN].decode("utf-8", "ignore"), 1
    return "".join(lines[:taken]), taken


class ListFolder(FileCapability):
    """workspace.list: what one folder holds."""

    spec = CapabilitySpec(
        name="workspace.list",
        description=(
            "List one folder of the workspace (the root if no path is given): files with their "
            "size in bytes, folders, and links, which cannot be followed."
        ),
        parameters=closed_object([], path=PATH),
        side_effect=SideEffect.READ,
        lookup=Lookup.AUTHORITATIVE,
        enforces=ENFORCED,
        trust=Trust.WORKSPACE,
    )

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the folder; its version is the digest of its listing."""
        found = await super().describe(args)
        version = await self.version(found.resource)
        return found.model_copy(update={"resource_version": version})

    async def version(self, resource: str) -> str:
        """Digest of the listing; as for files where there is no folder to list."""
        return await asyncio.to_thread(self._version, resource.removeprefix("file:"))

    def _version(self, path: str) -> str:
        try:
            return digest_of(self._listing(segments_of(path, op=self.spec.name)))
        except CapabilityError as error:
            # Listing it meets this very error; here the policy comes first.
            absent = error.code in ("not_found", "path_outside_workspace", "invalid_path")
            return ABSENT if absent else f"unusable:{error.code}"

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """List the folder.

        Raises:
            CapabilityError: the path is refused or is no folder.
        """
        return await asyncio.to_thread(self._read, args, constraints)

    def _read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        op = self.spec.name
        segments = segments_of(path_of(args), op=op)
        enforce(constraints, segments, 0, op=op)
        found = self._listing(segments)
        enforce(constraints, segments, sum(len(item["name"].encode()) for item in found), op=op)
        cut = len(found) > MAX_LISTED
        return ReadResult(
            result={
                "path": "/".join(segments) or ".",
                "entries": found[:MAX_LISTED],
                "total": len(found),
            },
            version=digest_of(found),
            truncated=cut,
            original="".join(f"{i['kind']} {i['name']}\n" for i in found).encode() if cut else None,
        )

    def _listing(self, segments: tuple[str, ...]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with self._workspace.files.folder(segments, op=self.spec.name) as fd:
            for name in sorted(os.listdir(fd)):
                if left_out(name):
                    continue
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # it vanished between being listed and being looked at
                item: dict[str, Any] = {"name": visible(name), "kind": _kind(status.st_mode)}
                if item["kind"] == "file":
                    item["bytes"] = status.st_size
                found.append(item)
        return found


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "special")
