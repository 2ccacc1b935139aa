"""The `json_schema` check: a JSON file of the candidate must be valid under a JSON Schema."""

from checkrein.adapters.candidate_files import Unusable, text
from checkrein.adapters.judged_apart import JudgedApart, Undecided
from checkrein.adapters.schema_source import Unfit, schema_of
from checkrein.adapters.verdicts import about, not_mine
from checkrein.contracts.check import Check, JsonSchemaCheck
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "json_schema/1"


class JsonSchemaVerifier:
    """Implements checkrein.ports.verifier.Verifier for `json_schema` checks (2020-12)."""

    def __init__(self, apart: JudgedApart) -> None:
        """`apart` applies the schema, whose patterns may take for ever on a hostile file."""
        self._apart = apart

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `json_schema` check."""
        return isinstance(check, JsonSchemaCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Validate the file in the copy. The schema is never read from the candidate.

        Raises:
            EnvironmentFault: the copy cannot be opened, or no process can be started.
            InputError: the check is of another kind.
        """
        if not isinstance(check, JsonSchemaCheck):
            not_mine(_VERSION, check)
        spec = check.json_schema
        subject = about(check, spec.file)
        try:
            schema = await schema_of(spec.against)
            found = await text(examination.copy_root, spec.file)
            problems = await self._apart.problems("json", found, schema=schema)
        except Unusable as error:
            return subject.failed(str(error))
        except (Undecided, Unfit) as error:
            return subject.error(f"{spec.file}: {error}.")
        if not problems:
            return subject.passed()
        return subject.failed(listed(spec.file, problems), problems=len(problems))


def listed(file: str, problems: list[tuple[str, str]]) -> str:
    """Problems by the JSON Pointer of their place; the whole document's is empty."""
    lines = [f"- {place or '(the whole)'}: {problem}" for place, problem in problems]
    return f"{file} is not as it must be:\n" + "\n".join(lines)
