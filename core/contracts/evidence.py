"""The evidence package: who asked, who approved what exactly, what was done, what proves it."""

from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest
from checkrein.contracts.artifact import Artifact
from checkrein.contracts.attempt import Attempt
from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.effect import Effect
from checkrein.contracts.retrying import Retry
from checkrein.contracts.task import Task
from checkrein.contracts.verification import VerificationResult


class Candidate(Frozen):
    """What the model claimed, sealed with the state of the world it claimed it of."""

    summary: str
    state_digest: str
    candidate_hash: str


class ActionRecord(Frozen):
    """One action with the decisions about it."""

    action: Action
    decisions: list[PolicyDecision]


class ApprovalRecord(Frozen):
    """One request with the answer to it."""

    request: ApprovalRequest
    grants: list[ApprovalGrant]


class Lineage(Frozen):
    """One effect, walked back to what allowed it."""

    effect_id: str
    action_id: str
    turn: int
    context: str
    policy_version: str
    approval_ids: list[str]


class ChainHead(Frozen):
    """The end of the event chain, kept here too, so that a cut tail is found."""

    seq: int
    hash: str


class EvidencePackage(Frozen):
    """One attempt of one task, told by its records. `final_commit` is a later, separate act."""

    schema_version: Literal[1] = 1
    task: Task
    contract: dict[str, Any]
    attempt: Attempt
    inputs: list[str]
    candidate: Candidate | None
    actions: list[ActionRecord]
    effects: list[Effect]
    policies: list[str]
    approvals: list[ApprovalRecord]
    verification: VerificationResult | None
    artifacts: list[Artifact]
    final_commit: str | None = None
    lineage: list[Lineage]
    head: ChainHead
    usage: dict[str, int] = Field(default_factory=dict[str, int])
    retry_by_machine: Retry | None = None
