"""Writing an evidence folder: beside its place first, then given its name; whole or not at all."""

import asyncio
import shutil
import uuid
from pathlib import Path

from checkrein.contracts.evidence import ChainHead
from checkrein.errors import EnvironmentFault, InputError
from checkrein.graph import evidence_files as files


class NewFolder:
    """A folder in the making, beside its final place."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.draft = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}")
        self._seals: dict[str, files.FileSeal] = {}

    async def put(self, path: str, data: bytes) -> None:
        """Write one file and seal it."""
        self._seals[path] = files.seal_of(data)
        await self._written(path, data)

    async def publish(self, head: ChainHead, commit_head: ChainHead | None) -> None:
        """Seal the folder, and give it its name."""
        manifest = files.Manifest.of(self._seals, head, commit_head)
        await self._written(files.MANIFEST, files.json_bytes(manifest))
        try:
            await asyncio.to_thread(self.draft.rename, self.out)
        except OSError as error:
            raise refused(self.out, error) from error

    async def discard(self) -> None:
        """Leave nothing behind."""
        await asyncio.to_thread(shutil.rmtree, self.draft, ignore_errors=True)

    async def _written(self, path: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(_write, self.draft / path, data)
        except OSError as error:
            raise refused(self.draft, error) from error


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        stream.write(data)


def free_place(out: Path) -> Path:
    """The place to write to, absolute; nothing may be there but an empty folder."""
    out = out.expanduser().absolute()
    try:
        taken = out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir())))
    except OSError as error:
        raise refused(out, error) from error
    if taken:
        raise InputError(
            f"{out} is there already. Evidence is never written over anything: name a new folder.",
            op="evidence.export",
            code="out_not_empty",
            context={"path": str(out)},
        )
    return out


def refused(where: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"The evidence cannot be written to {where}: {error.strerror}. Nothing was left there; "
        "name a folder on a disk that has room and lets you write.",
        op="evidence.export",
        code="evidence_not_written",
        context={"path": str(where), "errno": error.errno},
    )
