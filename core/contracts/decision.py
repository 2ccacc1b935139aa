"""Policy decisions: the closed input that Rego sees, and the closed answer that is believed."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from checkrein.contracts.action import Facts, SideEffect
from checkrein.contracts.codec import Frozen
from checkrein.contracts.context import Trust
from checkrein.contracts.permission import Bound, Scope
from checkrein.contracts.task import Risk

ReasonCode = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")]


class Verdict(StrEnum):
    """The four answers. Authors write allow, ask, deny; a limited allow is CONSTRAINED_ALLOW."""

    ALLOW = "ALLOW"
    CONSTRAINED_ALLOW = "CONSTRAINED_ALLOW"
    REQUIRE_APPROVAL = "REQUIRE_APPROVAL"
    DENY = "DENY"


class Reserved(StrEnum):
    """Reason codes that only the harness gives; each of them denies."""

    POLICY_UNDEFINED = "policy_undefined"
    POLICY_ERROR = "policy_error"
    POLICY_TIMEOUT = "policy_timeout"
    POLICY_UNAVAILABLE = "policy_unavailable"
    POLICY_OUTPUT_INVALID = "policy_output_invalid"
    POLICY_INPUT_INVALID = "policy_input_invalid"
    POLICY_REVISION_MISMATCH = "policy_revision_mismatch"
    CONSTRAINT_UNAVAILABLE = "constraint_unavailable"
    CONSTRAINTS_CHANGED = "constraints_changed"
    PREVIEW_UNAVAILABLE = "preview_unavailable"
    REVOKED = "revoked"


class TaskFacts(Frozen):
    """The task as policies see it.

    Attributes:
        stage: the stage that the contract is in, for stage gates.
        plan_mode: only looking and planning is wanted; nothing may change.
        commit_authority: who may hand the verified result over; None where nobody may.
    """

    task_id: str
    risk: Risk
    contract_version: str
    capabilities: list[str]
    requested_by: str
    stage: str = "execute"
    plan_mode: bool = False
    commit_authority: str | None = None


class AttemptFacts(Frozen):
    """The attempt as policies see it. `turn` counts from 1.

    Attributes:
        prior_denials: calls of this attempt that were denied or rejected so far.
        purpose: `commit` where a person, and no model, hands over what was verified.
    """

    attempt_id: str
    number: int
    turn: int
    prior_denials: int = Field(default=0, ge=0)
    purpose: Literal["work", "commit"] = "work"


class ActorFacts(Frozen):
    """Who acts: the person behind it, the agent with its version, and the running harness.

    Attributes:
        roles: the roles that the contract gives to the person behind it.
    """

    user: str
    agent: str
    runtime: str
    roles: list[str] = Field(default_factory=list[str])


class ActionFacts(Frozen):
    """The action as policies see it. `args` is the only part that a model or an editor wrote.

    Attributes:
        resource_version: the version of the resource right now.
        repeats_effect: an equal action of this task has a committed or unknown effect already.
        egress: whether the capability sends what it is given to the outside.
        environment: where it acts, for example production; None where nobody said.
        compensates: the effect that it would undo.
        edited_by: the person whose arguments these are; None for the model's own.
    """

    action_id: str
    capability: str
    type: str
    args: dict[str, Any]
    resource: str
    resource_version: str
    side_effect_class: SideEffect
    reversible: bool
    facts: Facts
    repeats_effect: bool = False
    egress: bool = False
    environment: str | None = None
    compensates: str | None = None
    edited_by: str | None = None


class ProvenanceFacts(Frozen):
    """What stood in the model's context when it proposed.

    Attributes:
        untrusted: whether text from outside was among it, or was read earlier in the attempt: the
            model may repeat it long after it has left the context.
        private: whether the attempt has read private data; once read, it may turn up anywhere.
    """

    lowest_trust: Trust
    untrusted: bool
    private: bool = False


class ApprovalFacts(Frozen):
    """An approval that is held for this action."""

    approval_id: str
    approvers: list[str]
    operation_hash: str


class PermissionFacts(Frozen):
    """A yes that stands for more than one action, as policies see it: still good, and unused."""

    permission_id: str
    capability: str
    args: dict[str, Any]
    bounds: dict[str, Bound]
    scope: Scope
    given_by: str


class DecisionInput(Frozen):
    """The whole input document. Everything but action.args comes from the harness.

    Attributes:
        phase: `propose` when the action is first judged, `dispatch` right before it runs.
        permissions: what people of this task said yes to for more than one action; only those for
            the capability of this action.
        revocations, grants: what people took back and gave since, each as kind:value, for example
            capability:payments.charge or user:alice; the newest word on each counts.
        now_ms: the harness's clock, milliseconds since 1970, so that no policy needs its own.
    """

    schema_version: Literal[1] = 1
    phase: Literal["propose", "dispatch"]
    tenant: str
    task: TaskFacts
    attempt: AttemptFacts
    actor: ActorFacts
    action: ActionFacts
    provenance: ProvenanceFacts
    budget: dict[str, int]
    approvals: list[ApprovalFacts] = Field(default_factory=list[ApprovalFacts])
    permissions: list[PermissionFacts] = Field(default_factory=list[PermissionFacts])
    revocations: list[str] = Field(default_factory=list[str])
    grants: list[str] = Field(default_factory=list[str])
    now_ms: int = Field(ge=0)


class ApprovalTerms(Frozen):
    """What an approval needs.

    Attributes:
        expires_in_s: at most 30 days.
        scopes: how far a yes may reach; where the policy says nothing, this action once.
    """

    roles: list[str] = Field(min_length=1, max_length=16)
    quorum: int = Field(default=1, ge=1, le=5)
    expires_in_s: int = Field(default=86_400, ge=30, le=2_592_000)
    separation_of_duty: bool = False
    scopes: list[Scope] = Field(default_factory=lambda: [Scope.ONCE], min_length=1, max_length=3)


class Constraints(Frozen):
    """The closed vocabulary of limits that an executor can be asked to enforce."""

    path_roots: list[str] | None = Field(default=None, min_length=1)
    hosts: list[str] | None = Field(default=None, min_length=1)
    methods: list[str] | None = Field(default=None, min_length=1)
    max_bytes: int | None = Field(default=None, ge=0)
    max_rows: int | None = Field(default=None, ge=0)
    max_amount_minor: int | None = Field(default=None, ge=0)
    timeout_ms: int | None = Field(default=None, ge=1, le=600_000)
    read_only: Literal[True] | None = None
    dry_run: Literal[True] | None = None
    redact: list[str] | None = Field(default=None, min_length=1)
    sandbox_profile: str | None = None

    def named(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        return self.model_dump(exclude_none=True)


class DecisionOutput(Frozen):
    """What `data.checkrein.decision` must evaluate to; anything else is a denial.

    Attributes:
        covered_by: with REQUIRE_APPROVAL, the permission of the input within whose bounds this is.
    """

    decision: Verdict
    reason_code: ReasonCode
    reasons: list[ReasonCode] = Field(min_length=1, max_length=32)
    constraints: Constraints = Constraints()
    approval: ApprovalTerms | None = None
    obligations: list[str] = Field(default_factory=list[str], max_length=16)
    covered_by: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "DecisionOutput":
        limits = self.constraints.named()
        if (self.approval is not None) != (self.decision is Verdict.REQUIRE_APPROVAL):
            raise ValueError("approval terms go with REQUIRE_APPROVAL and with nothing else")
        if self.covered_by is not None and self.approval is None:
            raise ValueError("covered_by goes with REQUIRE_APPROVAL")
        if self.decision is Verdict.CONSTRAINED_ALLOW and not limits:
            raise ValueError("CONSTRAINED_ALLOW needs at least one constraint")
        if self.decision in {Verdict.ALLOW, Verdict.DENY} and limits:
            raise ValueError(f"{self.decision} carries no constraints")
        return self


class PolicyDecision(Frozen):
    """One recorded decision.

    Attributes:
        policy_version: content hash of the bundle that answered.
        input_ref: digest of the exact input, which is stored under it.
        covered_by: the permission that stands in for an approval; None where one must be asked for.
        message: for people, why the policy could not be asked; never input values.
        duration_ms: time that the engine took, milliseconds.
    """

    schema_version: Literal[1] = 1
    decision: Verdict
    reason_code: ReasonCode
    reasons: list[ReasonCode]
    constraints: dict[str, Any] = Field(default_factory=dict[str, Any])
    approval: ApprovalTerms | None = None
    obligations: list[str] = Field(default_factory=list[str])
    covered_by: str | None = None
    policy_version: str
    engine: str
    input_ref: str
    message: str | None = None
    duration_ms: float = 0.0

    @property
    def denies(self) -> bool:
        """Whether the action must not run, whoever says otherwise."""
        return self.decision is Verdict.DENY
