"""workspace.run_command: one command in a throw-away copy of the workspace.

What it writes there is gone afterwards, so that files change by workspace.apply_patch alone. What
else it can reach is the backend's to say: without a sandbox it runs as this user, sees this user's
files, and reaches the network unless the policy limits it to the profile `offline`. So it is
declared as what it may do at its worst.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.command_words import MAX_WORD, MAX_WORDS, words_of
from checkrein.adapters.throw_away import throw_away_folder
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_calls import PATH, FileCapability, closed_object
from checkrein.adapters.workspace_paths import GuardedFolder, segments_of
from checkrein.adapters.workspace_swap import still_ours
from checkrein.contracts.action import Facts, SideEffect
from checkrein.contracts.codec import canonical, visible
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault, InputError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    StillOwner,
)
from checkrein.ports.command_runner import CommandResult

NAME = "workspace.run_command"

RESOURCE = "workspace:."
"""What a command acts on: the whole tree, whose digest is its version."""

SANDBOX = "sandbox_profile"
OFFLINE = "offline"
"""The profile without a network but the command's own."""

ISOLATED = "isolated"
"""The profile of a sandbox: besides, no files and no processes of this machine."""

TIMEOUT_S = 60
"""Seconds that a command may take where the model names none."""

MAX_TIMEOUT_S = 600
"""Most seconds that it may name."""

MAX_SHOWN = 16 * 1024
"""Most characters of each output that are kept; the end of it, where errors stand."""

MAX_SECRETS = 8
"""Most secrets that one command may be lent."""

# Variables by which programs and their loaders are steered; a secret must not be one by its name.
_STEERING = re.compile(
    r"(PATH|HOME|TMPDIR|LANG|LANGUAGE|IFS|ENV|SHELL|USER|LOGNAME|PWD|TERM|EDITOR|PAGER)|"
    r"(LC|LD|DYLD|GIT|NODE|PERL|RUBY|JAVA|SSL|PIP|UV|BASH|PYTHON|PYTEST|CHECKREIN)_?.*|.*_PROXY"
)

_COPYING_S = 60.0
_NOT_STARTED = frozenset(
    {
        "command_not_started",
        "confinement_unavailable",
        "no_scratch",
        "no_temporary_folder",
        "offline_unavailable",
        "program_missing",
        "sandbox_broken",
        "sandbox_unavailable",
        "sandbox_unproven",
        "workspace_missing",
        "workspace_not_copied",
    }
)
"""Faults after which it is certain that the command never ran."""


class RunCommand(FileCapability):
    """Runs one list of words without a shell; nothing that it writes to the workspace stays."""

    spec = CapabilitySpec(
        name=NAME,
        description=(
            "Run one command in a throw-away copy of the workspace (without .git) and see its exit "
            "code, negative for a signal, with the end of its outputs. argv is a list of words; "
            "there is no shell, so no pipes, globs or variables. folder is where it runs, by "
            "default the root. Nothing that it writes stays: change files by apply_patch."
        ),
        parameters=closed_object(
            ["argv"],
            argv={
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": MAX_WORD},
                "minItems": 1,
                "maxItems": MAX_WORDS,
                "description": 'The program and its arguments, such as ["python", "-m", "pytest"].',
            },
            folder=PATH,
            timeout_s={"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_S},
        ),
        side_effect=SideEffect.IRREVERSIBLE,
        egress=True,
        timeout_s=MAX_TIMEOUT_S + _COPYING_S,
        enforces=frozenset({SANDBOX}),
        sandbox_profiles=frozenset({OFFLINE}),
        trust=Trust.EXTERNAL,
    )

    def __init__(
        self,
        workspace: FolderWorkspace,
        door: CommandDoor,
        artifacts: ArtifactStore | None = None,
        *,
        secrets: Sequence[str] = (),
    ) -> None:
        """`artifacts` keeps whole outputs that are too long to be shown.

        `secrets`: the names that a command may ask for; without any there is nothing to ask for.
        """
        super().__init__(workspace)
        self._door = door
        self._artifacts = artifacts
        if door.isolates:
            profiles = frozenset({OFFLINE, ISOLATED})
            self.spec = self.spec.model_copy(update={"sandbox_profiles": profiles})
        if secrets:
            self.spec = _lending(self.spec, secrets)

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the tree and its version; the facts are the command's words and where it runs.

        Raises:
            CapabilityError: argv_refused, no list of words that a program can be given.
        """
        words = words_of(args.get("argv"), param="argv", op=f"{NAME}.describe")
        locate = self._workspace.files.locate
        where = await asyncio.to_thread(locate, "folder", _folder_of(args))
        return Description(
            resource=RESOURCE,
            resource_version=await self._workspace.digest(),
            facts=Facts(
                argv=words,
                paths=[where],
                bytes=len(canonical(args)),
                secret_names=_secrets_of(args),
            ),
        )

    async def version(self, resource: str) -> str:
        """The digest of the tree."""
        return await self._workspace.digest()

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Check the call and write down what would run, on which state of the tree.

        Raises:
            CapabilityError: the words or the folder cannot be used.
        """
        op = f"{NAME}.prepare"
        folder = _folder_of(args)
        order = {
            "argv": words_of(args.get("argv"), param="argv", op=op),
            "folder": folder,
            "timeout_s": int(args.get("timeout_s", TIMEOUT_S)),
            "secrets": _secrets_of(args),
        }
        await asyncio.to_thread(_entered, self._workspace.files, folder, op)
        return Prepared(
            resource=RESOURCE,
            from_version=await self._workspace.digest(),
            to_version="",
            preview=_preview(order, self._door) if preview else "",
            plan=canonical(order),
            secrets=_secrets_of(args),
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Copy the tree, run the command in the copy, and throw the copy away.

        That it ran is COMMITTED, whatever it exits with; where its time was over, all of it is
        ended and the result says so.

        Raises:
            CapabilityError: nothing ran; the code says why.
            EnvironmentFault: it ran, and nobody can say what became of it.
        """
        op = f"{NAME}.send"
        offline = _is_offline(permit.constraints, self.spec, op) or self._door.offline
        order: dict[str, Any] = json.loads(prepared.plan)
        argv: list[str] = order["argv"]
        try:
            async with throw_away_folder("command") as folder:
                root = folder / "workspace"
                await self._copied(root, prepared.from_version, op)
                segments = await asyncio.to_thread(
                    _entered, GuardedFolder(root), str(order["folder"]), op
                )
                await still_ours(still_owner)
                result = await self._door.run(
                    argv,
                    root=root,
                    cwd=root.joinpath(*segments),
                    timeout_s=float(order["timeout_s"]),
                    offline=offline,
                    keep=folder,
                    secrets=permit.secrets,
                    may_change_mounts=True,
                )
                shown = await asyncio.to_thread(_shown, result, root, offline)
                shown |= await self._kept(shown, folder)
        except EnvironmentFault as fault:
            if fault.code not in _NOT_STARTED:
                raise  # it may have run: whoever sent it records that nobody knows
            raise _not_started(fault, argv, op) from fault
        return Outcome(status=EffectStatus.COMMITTED, result=shown)

    async def _kept(self, shown: dict[str, Any], folder: Path) -> dict[str, str]:
        """Where the whole of each output is that was too long to be shown, for people."""
        found: dict[str, str] = {}
        for name in ("stdout", "stderr"):
            if shown[f"{name}_truncated"] and self._artifacts is not None:
                data = await asyncio.to_thread((folder / name).read_bytes)
                kept = await self._artifacts.put(
                    data, name=f"command_{name}", media_type="text/plain", producer=NAME
                )
                found[f"{name}_whole"] = kept.uri
        return found

    async def _copied(self, root: Path, version: str, op: str) -> None:
        """Copy the tree, if it still is what was prepared, and so what was approved."""
        if await self._workspace.copy_to(root) != version:
            raise CapabilityError(
                "The workspace changed while the command was about to run. Nothing was run.",
                op=op,
                code="version_changed",
                advice="The workspace changed meanwhile, so nothing was run: call it again.",
            )


def _lending(spec: CapabilitySpec, names: Sequence[str]) -> CapabilitySpec:
    """The spec with an argument that names secrets, out of those that the task lends.

    Raises:
        InputError: bad_secret_name.
    """
    for name in names:
        if _STEERING.fullmatch(name.upper()):
            raise InputError(
                f"The task lends the secret {name} to {spec.name}, where it would be the variable "
                f"{name.upper()}, which steers programs. Give the secret another name.",
                op="command.secrets",
                code="bad_secret_name",
            )
    asked = {
        "type": "array",
        "items": {"enum": sorted(names)},
        "maxItems": MAX_SECRETS,
        "uniqueItems": True,
        "description": (
            "Names of secrets that the command needs. It finds each value in the environment "
            "variable of that name in capitals; you never see a value."
        ),
    }
    properties = {**spec.parameters["properties"], "secrets": asked}
    return spec.model_copy(update={"parameters": {**spec.parameters, "properties": properties}})


def _secrets_of(args: dict[str, Any]) -> list[str]:
    return sorted({str(name) for name in args.get("secrets", ())})


def _folder_of(args: dict[str, Any]) -> str:
    return str(args.get("folder", "."))


def _entered(files: GuardedFolder, folder: str, op: str) -> tuple[str, ...]:
    """The names of a folder that is there and is reached without a link."""
    segments = segments_of(folder, op=op)
    with files.folder(segments, op=op):
        return segments


def _is_offline(constraints: dict[str, Any], spec: CapabilitySpec, op: str) -> bool:
    """Whether the policy's limits cut the command off.

    Raises:
        CapabilityError: constraint_unavailable, a limit or a profile that cannot be had here.
    """
    profile = constraints.get(SANDBOX)
    unknown = sorted(constraints.keys() - {SANDBOX})
    if unknown or not (profile is None or profile in spec.sandbox_profiles):
        name = unknown[0] if unknown else f"{SANDBOX} {profile!r}"
        raise CapabilityError(
            f"The limit {name} cannot be enforced on commands. Nothing was run.",
            op=op,
            code="constraint_unavailable",
        )
    return profile is not None


def _not_started(fault: EnvironmentFault, argv: list[str], op: str) -> CapabilityError:
    """What a model is told where the machine could not even begin."""
    program = visible(argv[0])
    told = {
        "program_missing": f"The program {program!r} is not there or cannot be executed. Name one "
        "that is installed, or a file of the workspace such as ./run.py that is executable.",
        "offline_unavailable": "The policy lets it run without a network alone, and this machine "
        "cannot cut a command off: `checkrein doctor` says why. Nothing was run.",
    }
    usual = f"This machine could not begin it ({fault.code}). Nothing was run."
    return CapabilityError(str(fault), op=op, code=fault.code, advice=told.get(fault.code, usual))


def _shown(result: CommandResult, root: Path, offline: bool) -> dict[str, Any]:
    """How it ended, and the end of what it said."""
    stdout, stdout_cut = _end_of(result.stdout, root, result.root)
    stderr, stderr_cut = _end_of(result.stderr, root, result.root)
    return {
        "argv": result.argv,
        "exit_code": result.exit_code,
        "ended_by": str(result.ended_by),
        "limits_met": [str(limit) for limit in result.limits_met],
        "timed_out": result.timed_out,
        "backend": result.backend,
        "duration_s": round(result.duration_s, 3),
        "offline": offline,
        "stdout": stdout,
        "stdout_truncated": stdout_cut,
        "stderr": stderr,
        "stderr_truncated": stderr_cut,
    }


def _end_of(said: bytes, root: Path, seen: str) -> tuple[str, bool]:
    # The copy's place says nothing to a model, and is another one at the next call.
    text = without_host_paths(visible(said.decode("utf-8", "replace")), root, seen)
    return text[-MAX_SHOWN:], len(text) > MAX_SHOWN


def _preview(order: dict[str, Any], door: CommandDoor) -> str:
    """For people: every word apart, with marks that would reorder them on a screen written out."""
    words = "\n".join(f"  {_printable(word)}" for word in order["argv"])
    names = ", ".join(f"{name} as {name.upper()}" for name in order["secrets"])
    lent = f"It is lent these secrets in its environment: {names}.\n" if names else ""
    return (
        f"Run in the folder {_printable(order['folder'])}, for at most "
        f"{door.time_for(order['timeout_s']):g} s:\n"
        f"{words}\n"
        f"{lent}"
        "It runs in a copy of the workspace, which is thrown away with all that it wrote there. "
        f"{_reach(door)}{_mounted(door)}"
    )


def _mounted(door: CommandDoor) -> str:
    """The folders of this machine that it sees besides, and what becomes of them."""
    lines = "".join(
        f"\n  {mount.target} is {_printable(str(mount.source))}, "
        + ("which it may change, for good" if mount.writable else "to read")
        for mount in door.mounts
    )
    return f"\nIt sees these folders of this machine:{lines}" if lines else ""


def _reach(door: CommandDoor) -> str:
    network = (
        "It has no network."
        if door.offline
        else "It reaches the network unless a limit forbids it."
    )
    if door.isolates:
        sandbox = f"The sandbox ({door.offer.backend}) keeps it from all other files"
        return f"{sandbox} and processes of this machine. {network}"
    return f"It is no sandbox: it runs as this user. {network}"


def _printable(word: str) -> str:
    text = json.dumps(word, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
