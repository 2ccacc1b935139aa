"""Which folders of this machine a task's commands may be shown, and which never."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from checkrein.adapters.task_paths import tests_of
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.check import ArtifactCheck, Check, JsonSchemaCheck
from checkrein.contracts.environment import EnvironmentSpec, MountSpec
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError

_SERVED = "opa:"


def check_mounts(
    contract: TaskContract, workspace: WorkspaceRef, own: Mapping[str, Path | None]
) -> None:
    """Refuse mounts through which commands reach what judges them or what is kept from them.

    Blocking. `own`: by name, places of this installation; None is one that there is not.

    Raises:
        InputError: mount_unfit, naming every mount that cannot be and why.
    """
    if contract.environment is None:
        return
    mounts = contract.environment.mounts
    guarded = [(name, place) for name, place in own.items() if place is not None]
    guarded += _of_task(contract, workspace)
    found = [
        f"/mnt/{mount.name} ({mount.path}) and {name} ({place}) lie one in the other"
        for mount in mounts
        for name, place in guarded
        if _overlap(Path(mount.path), place)
    ]
    found += [*_of_machine(mounts), *_nested(mounts)]
    if found:
        told = "".join(f"\n  {line}" for line in dict.fromkeys(found))
        raise InputError(
            "The task's mounts would show its commands, or let them change, what is kept from "
            f"them. Nothing was started.{told}\nMount folders that hold nothing else.",
            op="environment.mounts",
            code="mount_unfit",
        )


def absent_mounts(spec: EnvironmentSpec) -> Set[str]:
    """Those of a task's mounts whose folder is not there. Blocking."""
    return {mount.path for mount in spec.mounts if not os.path.isdir(mount.path)}


def _of_task(contract: TaskContract, workspace: WorkspaceRef) -> Iterator[tuple[str, Path]]:
    yield "the workspace", Path(workspace.root)
    yield "the workspace's source", Path(workspace.source)
    if contract.policy is not None and not contract.policy.startswith(_SERVED):
        yield "the policy", Path(contract.policy)
    for check in contract.success:
        tests = tests_of(check)
        if tests is not None and tests.hidden is not None:
            yield "the hidden tests", Path(tests.hidden)
        schema = _schema_of(check)
        if schema is not None:
            yield "a check's schema", Path(schema)


def _schema_of(check: Check) -> str | None:
    """The file that a check takes its schema from."""
    against: object = None
    if isinstance(check, JsonSchemaCheck):
        against = check.json_schema.against
    elif isinstance(check, ArtifactCheck):
        against = check.artifact.against
    return against if isinstance(against, str) else None


def _of_machine(mounts: Sequence[MountSpec]) -> Iterator[str]:
    """Mounts that hold every command's scratch folder, or that could change who judges."""
    for mount in mounts:
        place = Path(os.path.realpath(mount.path))
        scratch = Path(os.path.realpath(tempfile.gettempdir()))
        if scratch.is_relative_to(place):
            yield f"/mnt/{mount.name} ({mount.path}) holds the temporary folder ({scratch})"
        for python in sorted({sys.prefix, sys.base_prefix}):
            if mount.mode == "rw" and _overlap(place, python):
                yield f"/mnt/{mount.name}, which is rw, and this Python ({python}) overlap"


def _nested(mounts: Sequence[MountSpec]) -> Iterator[str]:
    """Mounts in one that commands may write: they could put a link in the inner one's place."""
    for outer in mounts:
        for inner in mounts:
            if outer is not inner and outer.mode == "rw" and _overlap(outer.path, inner.path):
                yield f"/mnt/{inner.name} and /mnt/{outer.name}, which is rw, lie one in the other"


def _overlap(one: Path | str, other: Path | str) -> bool:
    """Whether one is, holds or lies in the other, wherever links lead."""
    a, b = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    return a.is_relative_to(b) or b.is_relative_to(a)
