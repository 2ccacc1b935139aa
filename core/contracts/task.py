"""The task contract: what is asked, in forms that code can enforce."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from checkrein.contracts.budget import BudgetLimits, Money, SharedLimits, priced
from checkrein.contracts.check import (
    REPORTS_TESTS,
    STRENGTH_ORDER,
    Check,
    CommandCheck,
    Glob,
    JunitCheck,
    ModelJudgeCheck,
    PytestCheck,
    SarifCheck,
    SecretName,
    Strength,
    UnchangedCheck,
    kind_of,
    same_model,
)
from checkrein.contracts.codec import Frozen, digest_of
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.contracts.mcp import McpName, McpServer, capability_name
from checkrein.contracts.progress import ProgressRules

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.@+-]+$")]
"""A person, role or tenant."""

CapabilityName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", max_length=64)
]
"""A capability, for example workspace.read."""


PUBLISH = "workspace.publish"
"""The capability that applies the verified changes to the folder that the person named."""

LARGEST_PUBLISHED = 256 << 20
"""Largest file that it applies, in bytes."""

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
        budget_role: whose people may raise a budget. Without one it is the commit authority; where
            there is none either, whoever signs in with a token that is good for authority.
        result: a person must accept the result (`result.submit`), besides every check.
    """

    roles: dict[Name, list[Name]] = Field(default_factory=dict[Name, list[Name]])
    separation_of_duty: bool = False
    asserted_up_to: Risk = Risk.LOW
    anonymous: bool = False
    result: bool = False
    budget_role: Name | None = None
    escalation: list[Escalation] = Field(default_factory=list[Escalation], max_length=8)

    @model_validator(mode="after")
    def _consistent(self) -> "ApprovalRules":
        times = [step.after_s for step in self.escalation]
        if times != sorted(set(times)):
            raise ValueError("escalation is not in order of time: each after_s is larger")
        unknown = [step.role for step in self.escalation if not self.roles.get(step.role)]
        if unknown:
            raise ValueError(f"escalation names the role {unknown[0]}, which nobody has")
        if self.budget_role is not None and not self.roles.get(self.budget_role):
            raise ValueError(f"budget_role names the role {self.budget_role}, which nobody has")
        return self


class CommitAct(Frozen):
    """The act by which the commit authority hands the verified result over.

    Attributes:
        capability: a capability that no model of the task may use.
        args: its arguments. Workspace.publish is given the two digests by the harness.
    """

    capability: CapabilityName = PUBLISH
    args: dict[str, Any] = Field(default_factory=dict[str, Any])


class TaskContract(Frozen):
    """What is asked, what may be used, what must hold, and what proves it.

    The goal guides the model; `success` and `constraints` are run by the harness. Paths are
    relative to the folder of the task file until the loader makes them absolute.

    Attributes:
        fallback_model: decides from the rung `switch` on, until a person has answered.
        reviewer: a model that looks at a run that goes in circles, and decides nothing.
        essential: capabilities without which the goal cannot be reached: when one of them fails for
            good, the attempt has failed.
        progress: when a run counts as going in circles.
        mcp: servers whose tools are capabilities named mcp.SERVER.TOOL.
        secrets: which capabilities may be lent which secret. Here stand names alone; a check is
            lent what it names itself.
    """

    version: Literal[1] = 1
    goal: str = Field(min_length=1, max_length=100_000)
    tenant: Name = "local"
    requested_by: Name = "local"
    risk: Risk = Risk.LOW
    stage: Name = "execute"
    plan_mode: bool = False
    model: str | None = Field(default=None, min_length=1, max_length=512)
    fallback_model: str | None = Field(default=None, min_length=1, max_length=512)
    reviewer: str | None = Field(default=None, min_length=1, max_length=512)
    workspace: WorkspaceSpec | None = None
    policy: str | None = Field(default=None, min_length=1, max_length=4096)
    environment: EnvironmentSpec | None = None
    capabilities: list[CapabilityName] = Field(default_factory=list[CapabilityName], max_length=256)
    mcp: dict[McpName, McpServer] = Field(default_factory=dict[str, McpServer], max_length=16)
    essential: list[CapabilityName] = Field(default_factory=list[CapabilityName], max_length=256)
    secrets: dict[SecretName, list[CapabilityName]] = Field(
        default_factory=dict[SecretName, list[CapabilityName]], max_length=64
    )
    constraints: list[Constraint] = Field(default_factory=list[Constraint], max_length=256)
    budgets: BudgetLimits = BudgetLimits()
    progress: ProgressRules = ProgressRules()
    shared_budgets: SharedLimits | None = None
    approvals: ApprovalRules = Field(default_factory=ApprovalRules)
    success: list[Check] = Field(min_length=1, max_length=64)
    artifacts: list[Product] = Field(default_factory=list[Product])
    commit_authority: Name | None = None
    commit: CommitAct | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TaskContract":
        if len(set(self.capabilities)) != len(self.capabilities):
            raise ValueError("capabilities names one capability twice")
        for field, named in (("essential", self.essential), ("polling", self.progress.polling)):
            missing = [name for name in named if name not in self.capabilities]
            if missing:
                raise ValueError(f"{field} names {missing[0]}, which capabilities does not grant")
        self._check_mcp()
        own, shared = self.budgets.money, self.shared_budgets and self.shared_budgets.money
        if own and shared and own.model_copy(update={"limit": shared.limit}) != shared:
            raise ValueError("budgets and shared_budgets name other prices or another currency")
        for secret, users in self.secrets.items():
            unknown = sorted(set(users) - set(self.capabilities))
            if unknown:
                raise ValueError(
                    f"secrets lends {secret} to {unknown[0]}, which is not among capabilities"
                )
        if "test_report" in self.artifacts and not REPORTS_TESTS & set(map(kind_of, self.success)):
            raise ValueError(
                "artifacts expects a test_report, and no command, pytest or junit check under "
                "success makes one"
            )
        short = shortfall(self.risk, {check.strength for check in self.success})
        if short is not None:
            raise ValueError(short)
        return self

    def _check_mcp(self) -> None:
        """Each granted tool of a server is declared, and its name is one."""
        for server, spec in self.mcp.items():
            for tool in spec.tools:
                if len(capability_name(server, tool)) > 64:
                    raise ValueError(f"mcp: the name of {tool} of {server} is too long")
        declared = {capability_name(s, tool) for s, spec in self.mcp.items() for tool in spec.tools}
        unknown = [n for n in self.capabilities if n.startswith("mcp.") and n not in declared]
        if unknown:
            raise ValueError(f"capabilities grants {unknown[0]}, which no server of mcp brings")

    @model_validator(mode="after")
    def _committed_by_authority(self) -> "TaskContract":
        final = {PUBLISH, self.commit_act.capability} & set(self.capabilities)
        if final:
            raise ValueError(
                f"capabilities grants {min(final)}, which is the final commit: only the commit "
                "authority does that, and never a model"
            )
        if self.commit is not None and self.commit_authority is None:
            raise ValueError("commit says how, and commit_authority does not say who may")
        return self

    @model_validator(mode="after")
    def _judged_by_another(self) -> "TaskContract":
        judges = [c.model_judge.model for c in self.success if isinstance(c, ModelJudgeCheck)]
        workers = [name for name in (self.model, self.fallback_model) if name is not None]
        if any(same_model(name, judge) for name in workers for judge in judges):
            raise ValueError(
                "success names the task's own model as its judge; give model_judge another model"
            )
        return self

    @property
    def runs_checks(self) -> bool:
        """Whether one of its checks runs a command, which leaves a report of what it ran."""
        kinds = CommandCheck | PytestCheck | JunitCheck | SarifCheck
        return any(isinstance(check, kinds) for check in self.success)

    @property
    def commit_act(self) -> CommitAct:
        """How the final commit is made."""
        return self.commit or CommitAct()

    @property
    def moves_files(self) -> bool:
        """Whether its final commit applies the changes of a copy to the folder it was made of."""
        copied = self.workspace is not None and self.workspace.mode == "copy"
        return (
            copied and self.commit_authority is not None and self.commit_act.capability == PUBLISH
        )

    @property
    def contract_version(self) -> str:
        """Digest of the whole contract: a changed contract is another contract."""
        return digest_of(self.model_dump(mode="json"))

    @property
    def prices(self) -> Money | None:
        """What model calls are charged by, where money is limited."""
        return priced(self.budgets, self.shared_budgets)

    @property
    def protected(self) -> list[str]:
        """All patterns that constraints or checks declare unchanged."""
        found: list[str] = []
        for item in [*self.constraints, *self.success]:
            if isinstance(item, UnchangedConstraint | UnchangedCheck):
                found += item.unchanged
        return found

    def secrets_for(self, capability: str) -> list[str]:
        """The secrets that a capability may be lent, sorted."""
        return sorted(name for name, users in self.secrets.items() if capability in users)

    @property
    def offline(self) -> bool:
        """Whether `network: none` stands among the constraints."""
        return any(isinstance(item, NetworkConstraint) for item in self.constraints)


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
    """One thing asked. It may have several attempts; it is never a chat log.

    `parent` is the attempt that this is a child task of, on whose budgets it draws.
    """

    schema_version: Literal[1] = 1
    task_id: str
    tenant: str
    contract_version: str
    input_refs: list[str] = Field(default_factory=list[str])
    risk: Risk
    budget: BudgetLimits
    requested_by: str
    commit_authority: str | None = None
    parent: str | None = None
    status: TaskStatus = TaskStatus.CREATED
