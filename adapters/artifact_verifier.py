"""The `artifact` check: a file that the task is to leave is there, and is what it says it is."""

import asyncio
from pathlib import Path

from checkrein.adapters.candidate_files import Unusable, content, size_and_hash, text
from checkrein.adapters.json_schema_verifier import listed
from checkrein.adapters.judged_apart import JudgedApart, Undecided
from checkrein.adapters.media_types import can_tell, fault_of, is_json, is_xml
from checkrein.adapters.schema_source import Unfit, schema_of
from checkrein.adapters.verdicts import about, not_mine
from checkrein.contracts.check import ArtifactCheck, ArtifactSpec, Check
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_LOOKED_INTO = 64 * 1024 * 1024
"""Most bytes of a file whose type is told by its content."""

_VERSION = "artifact/1"


class ArtifactVerifier:
    """Implements checkrein.ports.verifier.Verifier for `artifact` checks."""

    def __init__(self, apart: JudgedApart) -> None:
        """`apart` reads JSON and XML, and applies schemas."""
        self._apart = apart

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is an `artifact` check."""
        return isinstance(check, ArtifactCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Look at the file in the copy: its size, its type by its content, and its schema.

        Raises:
            EnvironmentFault: the copy cannot be opened, or no process can be started.
            InputError: the check is of another kind.
        """
        if not isinstance(check, ArtifactCheck):
            not_mine(_VERSION, check)
        spec, root = check.artifact, examination.copy_root
        subject = about(check, f"{spec.path} ({spec.media_type})")
        try:
            size, _ = await size_and_hash(root, spec.path)
            gap = _size(spec, size) or await self._content(spec, root)
        except Unusable as error:
            return subject.failed(str(error))
        except (Undecided, Unfit) as error:
            return subject.error(f"{spec.path}: {error}.")
        if gap:
            return subject.failed(gap, bytes=size)
        return subject.passed(bytes=size, type_looked_at=int(can_tell(spec.media_type)))

    async def _content(self, spec: ArtifactSpec, root: Path) -> str:
        """What shows that it is of another form; nothing, where nothing does."""
        if is_json(spec.media_type):
            schema = None if spec.against is None else await schema_of(spec.against)
            found = await text(root, spec.path)
            problems = await self._apart.problems("json", found, schema=schema)
            return listed(spec.path, problems) if problems else ""
        if spec.against is not None:
            raise Unfit(f"a schema says nothing about {spec.media_type}; `against` is for JSON")
        if is_xml(spec.media_type):
            problems = await self._apart.problems("xml", await text(root, spec.path))
            return listed(spec.path, problems) if problems else ""
        if not can_tell(spec.media_type):
            return ""
        data = await content(root, spec.path, MAX_LOOKED_INTO)
        wrong = await asyncio.to_thread(fault_of, spec.media_type, data)
        return f"{spec.path} is no {spec.media_type}: {wrong}." if wrong else ""


def _size(spec: ArtifactSpec, size: int) -> str:
    if size < spec.min_bytes:
        return f"{spec.path} has {size} bytes, and must have at least {spec.min_bytes}."
    if size > spec.max_bytes:
        return f"{spec.path} has {size} bytes, and may have at most {spec.max_bytes}."
    return ""
