"""The working copy, as the completion gate sees it."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from checkrein.contracts.artifact import ChangedFile
from checkrein.contracts.attempt import WorkspaceRef


class Workspace(Protocol):
    """One folder that effects change. Paths are relative, with forward slashes."""

    @property
    def ref(self) -> WorkspaceRef:
        """Where it is and what it was."""
        ...

    async def digest(self) -> str:
        """Digest of every path, kind, executable bit and content; .git is left out.

        Raises:
            EnvironmentFault: the folder cannot be read.
        """
        ...

    async def copy_to(self, target: Path) -> str:
        """Copy the content (without .git) to a new folder and return the copy's digest."""
        ...

    def scratch(self) -> AbstractAsyncContextManager[Path]:
        """A folder outside of it for one piece of work, such as a copy; gone afterwards.

        What a process that was killed left of one is removed by a later one.

        Raises:
            EnvironmentFault: no_temporary_folder, the machine has no room for one.
        """
        ...

    async def changed(self, patterns: list[str]) -> list[str]:
        """Paths that match and differ from the baseline, are gone, or are new."""
        ...

    async def changed_files(self) -> list[ChangedFile] | None:
        """Files that differ from the baseline, with their digests; None where too many do."""
        ...

    async def unpublishable(self) -> list[str]:
        """Changes that workspace.publish could not apply, each as its path and why.

        Raises IntegrityError as `changed` does.
        """
        ...

    async def diff(self) -> str:
        """Unified diff of all text files from the baseline to now; binary files are named."""
        ...

    async def original(self, path: str) -> bytes | None:
        """A file's content, or a link's target, as it was at the start.

        None where there was none, or a folder. Raises IntegrityError as `changed` does.
        """
        ...
