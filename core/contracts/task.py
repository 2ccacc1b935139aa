"""The task contract: what is asked, in forms that code can enforce."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.check import (
    STRENGTH_ORDER,
    Check,
    CommandCheck,
    Glob,
    JunitCheck,
    PytestCheck,
    SarifCheck,
    Strength,
    UnchangedCheck,
)
from checkrein.contracts.codec import Frozen, digest_of

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.@+-]+$")]
"""A person, role or tenant."""

CapabilityName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", max_length=64)
]
"""A capability, for example workspace.read."""


Product = Literal["diff", "test_report"]
"""What the harness itself makes of an attempt, besides its effects."""


class Risk(StrEnum):
    """How much harm a wrong result can do; sets the least verifier strength and who may approve."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


RISK_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)

LEAST_STRENGTH: Mapping[Risk, Strength] = {
    Risk.LOW: Strength.GUARD,
    Risk.MEDIUM: Strength.OUTPUT,
    Risk.HIGH: Strength.TESTS,
}
"""At least one check must be as strong as this, or stronger."""

BARRED_STRENGTHS: Mapping[Risk, frozenset[Strength]] = {
    Risk.LOW: frozenset(),
    Risk.MEDIUM: frozenset(),
    Risk.HIGH: frozenset({Strength.JUDGE}),
}
"""What may not decide at all."""


def shortfall(risk: Risk, strengths: Collection[Strength]) -> str | None:
    """Why checks of these strengths do not prove enough for a risk; None where they do."""
    barred = sorted(BARRED_STRENGTHS[risk] & set(strengths))
    if barred:
        return (
            f"risk: {risk} lets no {barred[0]} decide; replace model_judge by a check that code "
            "can make, or let a person judge (human)"
        )
    least = STRENGTH_ORDER.index(LEAST_STRENGTH[risk])
    if any(STRENGTH_ORDER.index(strength) >= least for strength in strengths):
        return None
    enough = " or ".join(STRENGTH_ORDER[least:])
    return (
        f"risk: {risk} needs at least one check of strength {enough}; add {_EXAMPLES[risk]}, "
        "or lower the risk"
    )


_EXAMPLES = {
    Risk.LOW: "any check",
    Risk.MEDIUM: "a text_match, json_schema, pytest, command or *_state check",
    Risk.HIGH: "a pytest, junit, sarif, command, file_state, sql_state or http_state check",
}


class WorkspaceSpec(Frozen):
    """Where the work happens. `copy` leaves the folder as it is and works on a copy of it."""

    path: str = Field(min_length=1, max_length=4096)
    mode: Literal["copy", "in_place"] = "copy"


class UnchangedConstraint(Frozen):
    """Paths that must be, at the end, byte for byte what they were at the start."""

    unchanged: list[Glob] = Field(min_length=1, max_length=256)


class NetworkConstraint(Frozen):
    """`none`: no command runs with a network; a machine that cannot do so ends the attempt.

    That holds for the commands of verifiers and of workspace.run_command.
    """

    network: Literal["none"]


Constraint = UnchangedConstraint | NetworkConstraint | str


class Escalation(Frozen):
    """Whom else a request is shown to once nobody has answered it for so long, in seconds."""

    after_s: int = Field(ge=1, le=2_592_000, strict=True)
    role: Name


class ApprovalRules(Frozen):
    """Who may approve, and how well they must be known.

    Attributes:
        roles: role name to people.
        separation_of_duty: bars the requester, whatever the policy says.
        asserted_up_to: the highest risk of a task for which a name that was only asserted, on a
            command line, is enough; above it an answer needs a token or a signed-in session.
        anonymous: an answer by nobody in particular counts. For development alone.
        escalation: in order of time.
        result: a person must accept the result (`result.submit`), besides every check.
    """

    roles: dict[Name, list[Name]] = Field(default_factory=dict[Name, list[Name]])
    separation_of_duty: bool = False
    asserted_up_to: Risk = Risk.LOW
    anonymous: bool = False
    result: bool = False
    escalation: list[Escalation] = Field(default_factory=list[Escalation], max_length=8)

    @model_validator(mode="after")
    def _consistent(self) -> "ApprovalRules":
        times = [step.after_s for step in self.escalation]
        if times != sorted(set(times)):
            raise ValueError("escalation is not in order of time: each after_s is larger")
        unknown = [step.role for step in self.escalation if not self.roles.get(step.role)]
        if unknown:
            raise ValueError(f"escalation names the role {unknown[0]}, which nobody has")
        return self


class TaskContract(Frozen):
    """What is asked, what may be used, what must hold, and what proves it.

    The goal guides the model; `success` and `constraints` are run by the harness. Paths are
    relative to the folder of the task file until the loader makes them absolute.
    """

    version: Literal[1] = 1
    goal: str = Field(min_length=1, max_length=100_000)
    tenant: Name = "local"
    requested_by: Name = "local"
    risk: Risk = Risk.LOW
    stage: Name = "execute"
    plan_mode: bool = False
    model: str | None = Field(default=None, min_length=1, max_length=512)
    workspace: WorkspaceSpec | None = None
    policy: str | None = Field(default=None, min_length=1, max_length=4096)
    capabilities: list[CapabilityName] = Field(default_factory=list[CapabilityName], max_length=256)
    constraints: list[Constraint] = Field(default_factory=list[Constraint], max_length=256)
    budgets: BudgetLimits = BudgetLimits()
    approvals: ApprovalRules = Field(default_factory=ApprovalRules)
    success: list[Check] = Field(min_length=1, max_length=64)
    artifacts: list[Product] = Field(default_factory=list[Product])
    commit_authority: Name | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TaskContract":
        if len(set(self.capabilities)) != len(self.capabilities):
            raise ValueError("capabilities names one capability twice")
        if "test_report" in self.artifacts and not _reporting(self.success):
            raise ValueError(
                "artifacts expects a test_report, and no command under success makes one"
            )
        short = shortfall(self.risk, {check.strength for check in self.success})
        if short is not None:
            raise ValueError(short)
        return self

    @property
    def contract_version(self) -> str:
        """Digest of the whole contract: a changed contract is another contract."""
        return digest_of(self.model_dump(mode="json"))

    @property
    def protected(self) -> list[str]:
        """All patterns that constraints or checks declare unchanged."""
        found: list[str] = []
        for item in [*self.constraints, *self.success]:
            if isinstance(item, UnchangedConstraint | UnchangedCheck):
                found += item.unchanged
        return found

    @property
    def offline(self) -> bool:
        """Whether `network: none` stands among the constraints."""
        return any(isinstance(item, NetworkConstraint) for item in self.constraints)


def _reporting(checks: Sequence[Check]) -> bool:
    """Whether one of the checks leaves a report of what it ran."""
    kinds = CommandCheck | PytestCheck | JunitCheck | SarifCheck
    return any(isinstance(check, kinds) for check in checks)


class TaskStatus(StrEnum):
    """Where a task stands; COMPLETED needs the commit authority, not only a verifier."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    VERIFIED = "VERIFIED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    ESCALATED = "ESCALATED"
    CANCELLED = "CANCELLED"


class Task(Frozen):
    """One thing asked. It may have several attempts; it is never a chat log."""

    schema_version: Literal[1] = 1
    task_id: str
    tenant: str
    contract_version: str
    input_refs: list[str] = Field(default_factory=list[str])
    risk: Risk
    budget: BudgetLimits
    requested_by: str
    commit_authority: str | None = None
    status: TaskStatus = TaskStatus.CREATED
