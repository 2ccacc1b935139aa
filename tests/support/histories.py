"""Every event that could come next in a small attempt: two turns, two actions in each."""

from dataclasses import dataclass

from payloads import (
    answered,
    committed,
    deduplicated,
    edited,
    effect_denied,
    ended,
    granted,
    noticed,
    observed,
    pending,
    prepared,
    read_back,
    reconciled,
    refused,
    requested,
    retried,
    sealed,
    stale,
    unknown,
    unusable,
    verified,
)

from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.decision import ApprovalTerms, Verdict
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.environment import ChosenEnvironment
from checkrein.contracts.event import (
    ActionProposed,
    ApprovalShown,
    BudgetExhausted,
    BudgetRaised,
    BudgetReserved,
    BudgetSettled,
    BudgetWarning,
    Cancelled,
    CancelRequested,
    CheckpointSaved,
    EnvironmentChosen,
    JudgeAnswered,
    JudgementAsked,
    JudgementGiven,
    PauseRequested,
    Payload,
    PolicyRefused,
    PolicyReloaded,
    QuestionAsked,
    RetryScheduled,
    RunResumed,
    Suspended,
    TurnStopped,
    UserAnswered,
)
from checkrein.contracts.observation import ObservationStatus
from checkrein.contracts.progress import Rung
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.testing.conformance.story import action_of, asked, bound, decided, executing, replied

TURNS = (1, 2)
POSITIONS = (0, 1)


@dataclass(frozen=True)
class Candidates:
    """What could come next, in a stable order, legal or not."""

    of_actions: list[Payload]
    of_turns: list[Payload]
    of_attempt: list[Payload]

    @property
    def all(self) -> list[Payload]:
        """All of them."""
        return [*self.of_actions, *self.of_turns, *self.of_attempt]


def candidates(attempt_id: str, fence: int) -> Candidates:
    """Every event about two turns of two actions each."""
    actions = [action_of(attempt_id, turn, position) for turn in TURNS for position in POSITIONS]
    return Candidates(
        of_actions=[payload for action in actions for payload in _of_action(action, fence)],
        of_turns=[payload for turn in TURNS for payload in _of_turn(attempt_id, turn)],
        of_attempt=_of_attempt(attempt_id, fence),
    )


def beginning(attempt_id: str, verdicts: list[Verdict]) -> list[Payload]:
    """A first turn in which one action is proposed and judged for each verdict."""
    actions = [action_of(attempt_id, 1, position) for position in range(len(verdicts))]
    return [
        *asked(),
        *replied(),
        *(ActionProposed(action=action) for action in actions),
        *(decided(action, verdict) for action, verdict in zip(actions, verdicts, strict=True)),
    ]


def _raises(attempt_id: str) -> list[Payload]:
    """A raise that is in order, and those that are not: a name alone, downwards, another pool."""
    right = BudgetRaised(
        budget=Budget.STEPS,
        pool=attempt_id,
        from_limit=3,
        to_limit=4,
        by="carol",
        authority="token",
        authenticated=True,
    )
    wrong: list[dict[str, object]] = [
        {"authenticated": False},
        {"from_limit": 4, "to_limit": 3},
        {"from_limit": 4, "to_limit": 5},
        {"pool": "another"},
        {"budget": Budget.MONEY},
    ]
    return [right, *(right.model_copy(update=change) for change in wrong)]


def _of_attempt(attempt_id: str, fence: int) -> list[Payload]:
    one = {Budget.TOOL_CALLS: 1}
    return [
        BudgetReserved(turn=1, amounts=one),
        BudgetSettled(turn=1, released=one, spent=one),
        BudgetSettled(turn=1, released=one, spent={}),
        BudgetExhausted(
            budget=Budget.STEPS, limit=3, left=0, needed=1, pool=attempt_id, unfinished=["all"]
        ),
        *(
            BudgetWarning(budget=Budget.TOOL_CALLS, pool=pool, limit=2, used=2)
            for pool in (attempt_id, "another")
        ),
        *_raises(attempt_id),
        RetryScheduled(turn=1, what="model", try_number=2, delay_s=0.5, error_type="busy"),
        PolicyReloaded(version="sha256:2", before="sha256:1"),
        PolicyRefused(version="", serving="sha256:1", problem="it does not exist"),
        ApprovalShown(approval_id="apr_1", place="task", pause=0),
        CheckpointSaved(turn=1),
        EnvironmentChosen(environment=ChosenEnvironment(backend="local")),
        RunResumed(how="recover", fence=fence),
        PauseRequested(by="bob"),
        CancelRequested(by="bob", reason="enough"),
        Cancelled(reason="enough"),
        UserAnswered(text="this one", by="bob"),
        *(noticed(rung) for rung in Rung),
        *(Suspended(status=s, reason="it waits") for s in AttemptStatus if s.is_suspended),
        *(ended(status) for status in AttemptStatus if status.is_terminal),
    ]


def _of_turn(attempt_id: str, turn: int) -> list[Payload]:
    return [
        *asked(turn),
        *replied(turn),
        *(unusable(attempt_id, turn, position) for position in (0, 2, 3)),
        QuestionAsked(turn=turn, call_id="c", question="Which?"),
        TurnStopped(turn=turn, why="empty_reply"),
        *sealed(turn, "sha256:w1"),
        *sealed(turn, "sha256:w2"),
        JudgeAnswered(
            turn=turn,
            check_id="sha256:c",
            state_digest="sha256:w1",
            result=CheckResult(kind="model_judge", name="j", status=CheckStatus.PASS),
        ),
        JudgementAsked(turn=turn, check="c", role="r", question="Good?", state_digest="sha256:w1"),
        JudgementGiven(check="c", state_digest="sha256:w1", verdict="pass", by="bob"),
        verified(turn),
        verified(turn, CheckStatus.FAIL),
        verified(turn, CheckStatus.FAIL, repair=True),
    ]


def _of_action(action: Action, fence: int) -> list[Payload]:
    found: list[Payload] = [
        ActionProposed(action=action),
        ActionProposed(action=edited(action)),
        decided(edited(action)),
        observed(edited(action), ObservationStatus.OK),
        observed(edited(action), ObservationStatus.DENIED),
        *(decided(action, v) for v in Verdict if v is not Verdict.CONSTRAINED_ALLOW),
        bound(action),
        executing(action, fence),
        executing(action, fence - 1),
        committed(action),
        refused(action),
        unknown(action),
        reconciled(action),
        reconciled(action, EffectStatus.NOT_APPLIED),
        retried(action, fence),
        retried(action, fence - 1),
        pending(action, sent=True),
        pending(action, sent=False),
        read_back(action, holds=True),
        read_back(action, holds=False),
        effect_denied(action),
        deduplicated(action),
        *(observed(action, status) for status in ObservationStatus),
    ]
    two = {"terms": ApprovalTerms(roles=["approver"], expires_in_s=60, quorum=2)}
    found.append(prepared(action, 2, **two))
    for revision in (1, 2):
        found += [
            prepared(action, revision),
            requested(action, revision),
            *(answered(action, answer, revision) for answer in Answer),
            answered(action, Answer.APPROVE, revision, by="carol"),
            granted(action, revision),
            granted(action, revision, resource_version="v9"),
            stale(action, revision),
        ]
    return found
