"""The artifact store: bytes by their own hash."""

from typing import Protocol

from checkrein.contracts.artifact import Artifact


class ArtifactStore(Protocol):
    """Keeps bytes that are too large for the event store, or wanted as files."""

    async def put(self, data: bytes, *, name: str, media_type: str, producer: str) -> Artifact:
        """Store bytes durably (once per content) and describe them.

        Raises:
            EnvironmentFault: the disk refuses.
        """
        ...

    async def get(self, ref: str) -> bytes:
        """Bytes by `artifact:sha256:...` or `sha256:...`.

        Raises:
            IntegrityError: they are not there or have changed.
        """
        ...
