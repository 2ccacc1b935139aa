"""How approvals go: how often people are asked, how long they take, and what became of a yes."""

from datetime import datetime
from typing import Protocol

from checkrein.contracts.codec import Frozen

BLIND_S = 2
"""A yes within fewer seconds than this was said without looking."""


class RuleMetrics(Frozen):
    """The requests of one rule, or of all. docs/approvals.md says what counts as what.

    Attributes:
        asked: requests that were shown to people; the next seven add up to it.
        approved: enough people said yes.
        withdrawn: its attempt ended before enough people had said anything.
        open: nobody has decided yet, and there is time.
        answers: what single people said; of these `yes` said approve.
        median_s, p90_s: seconds from being shown to an answer; None without answers.
        blind, blind_share: yes within 2 seconds, as a number and of all yes; None without any yes.
        overturned: requests with a yes that did not hold; None without any yes.
    """

    asked: int
    approved: int
    rejected: int
    edited: int
    responded: int
    expired: int
    withdrawn: int
    open: int
    answers: int
    yes: int
    median_s: float | None
    p90_s: float | None
    blind: int | None
    blind_share: float | None
    overturned: int | None


class ApprovalMetrics(Frozen):
    """What the policy said to proposed actions, and how the requests went that came of it.

    Attributes:
        since: the moment from which it is counted; None is the beginning.
        actions: actions that were decided when they were proposed: allowed, covered (an earlier yes
            stood for them), asked or denied.
        share_asked: of all actions; None without any.
        rules: by the reason code of the rule that asked.
    """

    since: datetime | None
    actions: int
    allowed: int
    covered: int
    asked: int
    denied: int
    share_asked: float | None
    total: RuleMetrics
    rules: dict[str, RuleMetrics]


class ApprovalReports(Protocol):
    """Reads; changes nothing."""

    async def metrics(
        self,
        *,
        since: datetime | None = None,
        ago_s: float | None = None,
        tenant: str | None = None,
    ) -> ApprovalMetrics:
        """What happened since a moment, or in the last `ago_s` seconds by the database's clock."""
        ...
