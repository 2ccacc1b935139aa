"""The evidence package: who asked, who approved what exactly, what was done, what proves it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest
from checkrein.contracts.artifact import Artifact, ChangedFile
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
    """One effect, walked back to what allowed it.

    Attributes:
        context: digest of the manifest of what was shown when it was proposed.
        policy_version, decision_input: the rules that allowed it, and what they were asked.
        inputs: what the attempt was given: its contract and its workspace.
    """

    effect_id: str
    action_id: str
    turn: int
    context: str
    policy_version: str
    decision_input: str = ""
    approval_ids: list[str]
    inputs: list[str] = Field(default_factory=list[str])


class ChainHead(Frozen):
    """The end of the event chain, kept here too, so that a cut tail is found."""

    seq: int
    hash: str


class Acceptance(Frozen):
    """A person's signature under what was verified."""

    state_digest: str
    candidate_hash: str
    by: str
    authority: str
    authenticated: bool
    note: str
    at: datetime


class Finishes(Frozen):
    """Three finishes, none of which implies the next.

    Attributes:
        protocol_final: when the model stopped calling tools: its last candidate was sealed.
        task_accepted: when the verifier accepted that candidate.
        user_accepted: who signed it, and when.
    """

    protocol_final: datetime | None = None
    task_accepted: datetime | None = None
    user_accepted: list[Acceptance] = Field(default_factory=list[Acceptance])


class FinalCommit(Frozen):
    """The act by which the commit authority handed over what was verified.

    Attributes:
        attempt: the commit attempt; it says who, and which verified state.
        effects: what it changed, with receipts; none where the state had only to stand.
        verification: what was found at the target afterwards.
        head: the end of the commit attempt's own chain of events.
    """

    attempt: Attempt
    committed_at: datetime
    actions: list[ActionRecord]
    effects: list[Effect]
    policies: list[str]
    approvals: list[ApprovalRecord]
    verification: VerificationResult | None
    lineage: list[Lineage]
    head: ChainHead


class Stands(StrEnum):
    """Whether the verified state stood when its evidence was handed out."""

    STANDS = "stands"
    MOVED = "moved"
    UNREACHABLE = "unreachable"
    UNVERIFIED = "unverified"


class Handover(Frozen):
    """What was found when evidence was handed out; said by the exporter, by no event.

    Attributes:
        verified, found: digests of the state that was verified, and of the state then.
    """

    schema_version: Literal[1] = 1
    state: Stands
    verified: str | None
    found: str | None
    checked_at: datetime


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
    changed: list[ChangedFile] = Field(default_factory=list[ChangedFile])
    finishes: Finishes = Finishes()
    final_commit: FinalCommit | None = None
    lineage: list[Lineage]
    head: ChainHead
    usage: dict[str, int] = Field(default_factory=dict[str, int])
    retry_by_machine: Retry | None = None
