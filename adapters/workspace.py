"""A folder as the workspace of an attempt: its digest, its changes, and the swap of one file."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from checkrein.adapters.blocking import to_end
from checkrein.adapters.publish_plan import unpublishable
from checkrein.adapters.throw_away import throw_away_folder
from checkrein.adapters.workspace_copy import copy_tree, create_workspace, home_of
from checkrein.adapters.workspace_diff import Change, changes, matching, tree_diff
from checkrein.adapters.workspace_paths import GIT, GuardedFolder, refusal, segments_of
from checkrein.adapters.workspace_swap import (
    ABSENT,
    Swap,
    compare_and_swap,
    folder_lock,
    still_ours,
)
from checkrein.adapters.workspace_tree import Entry, HashCache, digest_of_entries, entries
from checkrein.contracts.action import PathFact
from checkrein.contracts.artifact import ChangedFile
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.codec import visible
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault, InputError, IntegrityError

Failpoint = Callable[[str], Awaitable[None]]
"""Called with the name of a place at which a crash test may end the process."""

AFTER_FILE_WRITE = "after_file_write"
"""The file is renamed into its place, and nothing else knows of it yet."""


MAX_TOLD = 2_000
"""Most changed files that are told one by one."""


class Located(NamedTuple):
    """What a path means, and the version of what lies there."""

    fact: PathFact
    version: str


async def no_failpoint(place: str) -> None:
    """The failpoint of every ordinary run."""


class FolderWorkspace:
    """One folder that effects change; implements checkrein.ports.workspace.Workspace.

    Digests and copies leave out `.git` at every depth, so that nothing may be written there.
    """

    def __init__(
        self,
        ref: WorkspaceRef,
        *,
        home: Path,
        attempt_id: str,
        failpoint: Failpoint = no_failpoint,
        lock_wait_s: float = 10.0,
    ) -> None:
        """Open what `create` made; nothing is read yet.

        Args:
            home: Checkrein's home, in which the baseline and the lock lie.
            failpoint: awaited at AFTER_FILE_WRITE.
            lock_wait_s: seconds that a swap waits for other processes.
        """
        self._ref = ref
        self._home = home
        self._failpoint = failpoint
        self._lock_wait_s = lock_wait_s
        self._hashes = HashCache()
        self._baseline = GuardedFolder(home_of(home, attempt_id) / "baseline")
        self.files = GuardedFolder(Path(ref.root))

    @staticmethod
    async def create(
        source: Path, mode: Literal["copy", "in_place"], *, home: Path, attempt_id: str
    ) -> WorkspaceRef:
        """Make the baseline and, for `copy`, the working copy; doing it again gives the same.

        Raises:
            InputError: the source cannot be used; the message says why.
            EnvironmentFault: the home refuses to take the copy.
        """
        return await to_end(lambda: create_workspace(source, mode, home, attempt_id))

    @property
    def ref(self) -> WorkspaceRef:
        """Where it is and what it was."""
        return self._ref

    async def digest(self) -> str:
        """Digest of every path, kind, executable bit and content; .git is left out.

        Raises:
            EnvironmentFault: the folder cannot be read.
        """
        return await asyncio.to_thread(lambda: digest_of_entries(self._entries()))

    @asynccontextmanager
    async def scratch(self) -> AsyncGenerator[Path]:
        """See the port."""
        async with throw_away_folder("verify") as held:
            # A backend may give this one to another user, and never the one that is held.
            own = held / "own"
            await asyncio.to_thread(own.mkdir, 0o700)
            yield own

    async def copy_to(self, target: Path) -> str:
        """Copy the content (without .git) to a new folder and return the copy's digest.

        Raises:
            EnvironmentFault: something cannot be copied, or the disk refuses.
        """
        return await to_end(lambda: self._copy_to(target))

    async def changed(self, patterns: list[str]) -> list[str]:
        """Paths that match and differ from the baseline, are gone, or are new; sorted.

        A pattern that covers a folder covers all below it; `.git` is never among them.

        Raises:
            EnvironmentFault: the folder cannot be read.
            IntegrityError: the baseline is not what it was when the attempt began.
        """

        def look() -> list[str]:
            return matching([change.path for change in self._changes()], patterns)

        return await asyncio.to_thread(look)

    async def changed_files(self) -> list[ChangedFile] | None:
        """Files that differ from the baseline, with their digests; None where too many do.

        Raises as `changed` does.
        """
        found = await asyncio.to_thread(self._changes)
        files = [
            x for x in found if "file" in {x.before and x.before.kind, x.after and x.after.kind}
        ]
        if len(files) > MAX_TOLD:
            return None
        return [
            ChangedFile(path=visible(x.path), before=_content(x.before), after=_content(x.after))
            for x in files
        ]

    async def unpublishable(self) -> list[str]:
        """Changes that workspace.publish could not apply, each as its path and why.

        Raises as `changed` does.
        """
        found = await asyncio.to_thread(self._changes)
        return [f"{visible(x.path)}: {why}" for x in found if (why := unpublishable(x)) is not None]

    async def diff(self) -> str:
        """Unified diff of all text files from the baseline to now; binary files are named.

        `git apply` takes it. Raises as `changed` does.
        """
        return await asyncio.to_thread(
            lambda: tree_diff(self._changes(), self._baseline, self.files)
        )

    async def original(self, path: str) -> bytes | None:
        """A file's content, or a link's target, as it was at the start; None for all else.

        Raises:
            IntegrityError: the baseline is not what it was when the attempt began.
        """
        return await asyncio.to_thread(self._original, path)

    async def version(self, path: str) -> str:
        """`sha256:...` of a file's content, or `absent`.

        Raises:
            CapabilityError: the path is refused, or is no regular file.
        """
        return await asyncio.to_thread(self.version_now, path)

    async def settled_version(self, path: str) -> str:
        """The version as `locate_now` gives it, read while nobody swaps anything.

        Raises:
            CapabilityError: workspace_busy, another process holds the workspace's lock.
        """
        async with folder_lock(self._home, self.files.root, wait_s=self._lock_wait_s):
            return (await asyncio.to_thread(self.locate_now, "path", path)).version

    def version_now(self, path: str) -> str:
        """`version`, blocking."""
        op = "workspace.version"
        segments = segments_of(path, op=op)
        try:
            with self.files.file(segments, op=op) as fd:
                return self._hashes.of(fd)
        except CapabilityError as error:
            if error.code == "not_found":
                return ABSENT
            raise

    def locate_now(self, param: str, path: str) -> Located:
        """What a path means and which version lies there; refuses nothing; blocking.

        The version is `absent` outside, and `unusable:CODE` where reading it would be refused.
        """
        fact = self.files.locate(param, path)
        if not fact.inside:
            return Located(fact, ABSENT)
        try:
            return Located(fact, self.version_now(path))
        except CapabilityError as error:
            # Whoever reads or writes it meets this very error; here the policy comes first.
            return Located(fact, f"unusable:{error.code}")

    async def swap(
        self,
        path: str,
        *,
        effect_id: str,
        from_version: str,
        data: bytes,
        still_owner: Callable[[], Awaitable[bool]],
    ) -> Outcome:
        """Swap a file from one version to another under the workspace's lock.

        Returns:
            COMMITTED, also where the file is at the to-version already; REFUSED with
            version_changed where it is at neither; UNKNOWN_EFFECT where the rename may not last.

        Raises:
            CapabilityError: nothing was written: not_owner, workspace_busy, not_written, or the
                path is refused.
        """
        segments = writable(path, op="workspace.swap")
        swap = Swap(segments, effect_id, from_version, data)
        root = self.files.root
        async with folder_lock(self._home, root, wait_s=self._lock_wait_s):
            await still_ours(still_owner)
            outcome = await to_end(lambda: compare_and_swap(self.files, swap))
            if outcome.status is not EffectStatus.REFUSED:
                await self._failpoint(AFTER_FILE_WRITE)
        return outcome

    def _entries(self) -> list[Entry]:
        return entries(self.files, self._hashes)

    def _original(self, path: str) -> bytes | None:
        found = {entry.path: entry for entry in self._before()}.get(path)
        if found is None or found.kind not in ("file", "link"):
            return None
        if found.kind == "link":
            return os.fsencode(found.content)
        op = "workspace.original"
        return self._baseline.read(segments_of(path, op=op), op=op, limit=found.size)

    def _before(self) -> list[Entry]:
        before = entries(self._baseline, self._hashes)
        if digest_of_entries(before) != self._ref.baseline:
            raise IntegrityError(
                f"The baseline {self._baseline.root} is not what it was when the attempt began, "
                "so that nothing can be said about what changed. Start a new attempt.",
                op="workspace.changed",
                code="baseline_changed",
            )
        return before

    def _changes(self) -> list[Change]:
        return changes(self._before(), self._entries())

    def _copy_to(self, target: Path) -> str:
        try:
            copy_tree(self.files.root, target)
        except (InputError, OSError) as error:
            raise EnvironmentFault(
                f"The workspace cannot be copied to {target}: {error}",
                op="workspace.copy_to",
                code="workspace_not_copied",
                context={"target": str(target)},
            ) from error
        return digest_of_entries(entries(GuardedFolder(target), HashCache()))


def _content(entry: Entry | None) -> str | None:
    return entry.content if entry is not None and entry.kind == "file" else None


def writable(path: str, *, op: str) -> tuple[str, ...]:
    """The names of a path that may be written at all.

    Raises:
        CapabilityError: as segments_of, and reserved_path for the root and for Git's files.
    """
    segments = segments_of(path, op=op)
    if not segments or any(name.casefold() == GIT for name in segments):
        raise refusal(
            "reserved_path",
            f"{path} cannot be written: it is the workspace root or belongs to Git.",
            op=op,
            path=path,
        )
    return segments
