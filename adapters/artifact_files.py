"""The artifact store on a folder: each content once, under its own hash, checked when read."""

import asyncio
import hashlib
import os
import re
import uuid
from pathlib import Path

from checkrein.contracts.artifact import Artifact
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault, InputError, IntegrityError

MAX_ARTIFACT = 256 << 20
"""Largest artifact, in bytes."""

_REF = re.compile(r"^(?:artifact:)?sha256:([0-9a-f]{64})$")


class FolderArtifactStore:
    """Implements checkrein.ports.artifact_store.ArtifactStore in `home`/artifacts/aa/HASH."""

    def __init__(self, home: Path, *, max_bytes: int = MAX_ARTIFACT) -> None:
        """`max_bytes`: largest artifact that is taken."""
        self._folder = home / "artifacts"
        self._max_bytes = max_bytes

    async def put(self, data: bytes, *, name: str, media_type: str, producer: str) -> Artifact:
        """Store bytes durably (once per content) and describe them.

        Raises:
            EnvironmentFault: the disk refuses; the message says where.
            InputError: artifact_too_large.
        """
        if len(data) > self._max_bytes:
            raise InputError(
                f"The artifact {visible(name)} has {len(data)} bytes, more than {self._max_bytes}. "
                "Keep less of it, or raise the store's bound.",
                op="artifact.put",
                code="artifact_too_large",
            )
        found = await asyncio.to_thread(self._put, data)
        return Artifact(
            uri=f"artifact:sha256:{found}",
            hash=f"sha256:{found}",
            size=len(data),
            name=name,
            media_type=media_type,
            producer=producer,
        )

    async def get(self, ref: str) -> bytes:
        """Bytes by `artifact:sha256:...` or `sha256:...`.

        Raises:
            IntegrityError: they are not there or have changed.
        """
        match = _REF.match(ref)
        if match is None:
            raise _broken(f"{visible(ref[:100])!r} is no reference to an artifact", "bad_ref")
        return await asyncio.to_thread(self._get, match[1])

    def path(self, hash_hex: str) -> Path:
        """Where the content with this hash (64 hex digits) lies."""
        return self._folder / hash_hex[:2] / hash_hex

    def _put(self, data: bytes) -> str:
        found = hashlib.sha256(data).hexdigest()
        path = self.path(found)
        if path.is_file() and path.read_bytes() == data:
            return found
        try:
            _write(path, data)
        except OSError as error:
            raise EnvironmentFault(
                f"An artifact of {len(data)} bytes cannot be stored in {path.parent}: "
                f"{error.strerror}. Make room there, or make it writable.",
                op="artifact.put",
                code="artifact_not_stored",
                context={"path": str(path), "errno": error.errno},
            ) from error
        return found

    def _get(self, found: str) -> bytes:
        path = self.path(found)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _broken(f"{path} cannot be read ({error.strerror})", "artifact_lost") from error
        if hashlib.sha256(data).hexdigest() != found:
            raise _broken(f"{path} has changed since it was stored", "artifact_changed")
        return data


def _write(path: Path, data: bytes) -> None:
    """Write under another name, then rename: a crash leaves the whole content or none of it."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sync_folder(path.parent.parent)
    temp = path.with_name(f".{path.name[:16]}-{uuid.uuid4().hex}")
    try:
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temp.rename(path)
    except OSError:
        temp.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _broken(what: str, code: str) -> IntegrityError:
    return IntegrityError(
        f"{what}. Restore it from a copy; evidence that names it proves nothing without it.",
        op="artifact.get",
        code=code,
    )
