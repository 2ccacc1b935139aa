"""Lending secrets to one action or one check: judged first, on record, given back in any case.

A value lives in the loan and in what holder it is handed to. What the holder says in answer is
masked before any of it is recorded.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from checkrein.contracts.action import Guarantee
from checkrein.contracts.check import Check, kind_of, secrets_of
from checkrein.contracts.effect import Outcome
from checkrein.contracts.event import Payload, SecretLeased, SecretReleased
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import CapabilityError, CheckreinError, ConflictError, EnvironmentFault
from checkrein.nodes.limits import time_limit_s
from checkrein.nodes.run import Run
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.capability import CapabilitySpec, Prepared
from checkrein.ports.records import ActionState
from checkrein.ports.secrets import MAX_TTL_S, SecretBroker, SecretLease
from checkrein.ports.verifier import Examination, Verifier


class Loan:
    """The secrets that one holder has now; often none."""

    def __init__(
        self, leases: Sequence[SecretLease], *, turn: int, holder: str, action_id: str | None
    ) -> None:
        self._leases = list(leases)
        self._about: dict[str, Any] = {"turn": turn, "holder": holder, "action_id": action_id}

    @property
    def values(self) -> dict[str, SecretStr]:
        """The values, by name."""
        return {lease.name: lease.value for lease in self._leases}

    def lent(self) -> list[Payload]:
        """What goes on record before the holder gets anything."""
        return [
            SecretLeased(
                name=lease.name, purpose=lease.purpose, expires_at=lease.expires_at, **self._about
            )
            for lease in self._leases
        ]

    def release(self) -> list[Payload]:
        """Give all back; returns what goes on record then, nothing where it was done already."""
        leases, self._leases = self._leases, []
        for lease in leases:
            lease.release()
        return [SecretReleased(name=lease.name, **self._about) for lease in leases]


async def lend_to_action(
    run: Run,
    state: ActionState,
    spec: CapabilitySpec,
    prepared: Prepared,
    judged: Sequence[str],
    constraints: Mapping[str, Any],
) -> Loan:
    """Take the leases that an action needs. `judged`: the names that the policy was shown.

    Raises:
        CapabilityError: secret_not_granted or secret_unavailable; nothing is lent.
    """
    action, op = state.action, "secrets.lend"
    granted = set(run.contract.secrets_for(spec.name)) & set(judged)
    for name in prepared.secrets:
        # What runs inside of our own transaction has its rights there, and needs no other.
        if name not in granted or spec.guarantee is Guarantee.SAME_TRANSACTION:
            raise CapabilityError(
                f"The task does not lend the secret {name} to {spec.name}.",
                op=op,
                code="secret_not_granted",
                advice="Do it without this secret, or ask the person to have it granted.",
            )
    ttl_s = time_limit_s(spec, constraints) + spec.retry.window_s
    try:
        leases = await _leased(
            run.ports.secrets,
            prepared.secrets,
            purpose=f"{spec.name} on {action.resource}"[:200],
            holder_id=action.action_id,
            ttl_s=ttl_s,
        )
    except EnvironmentFault as fault:
        raise CapabilityError(
            str(fault),
            op=op,
            code=fault.code,
            advice="The secret cannot be had on this machine. Nothing was done; ask the person.",
        ) from None
    return Loan(leases, turn=action.turn, holder=spec.name, action_id=action.action_id)


async def _leased(
    broker: SecretBroker, names: Sequence[str], *, purpose: str, holder_id: str, ttl_s: float
) -> list[SecretLease]:
    """All of them, or none."""
    leases: list[SecretLease] = []
    try:
        for name in names:
            leases.append(
                await broker.lease(name, purpose=purpose, action_id=holder_id, ttl_s=ttl_s)
            )
    except BaseException:
        for lease in leases:
            lease.release()
        raise
    return leases


def masked(run: Run, outcome: Outcome, values: Mapping[str, SecretStr]) -> Outcome:
    """What a holder said, without the values."""
    if not values:
        return outcome
    told = run.ports.secrets.masks(values).value(outcome.model_dump(mode="json"))
    return Outcome.model_validate(told)


async def judged_with_secrets(
    run: Run, turn: int, check: Check, verifier: Verifier, examination: Examination
) -> CheckResult:
    """Run one check with the secrets that it names; a check that cannot have them is an ERROR.

    Raises:
        EnvironmentFault: the machine lacks what the check needs; the message is masked.
        WorkStopped: it was broken off.
    """
    names, kind = secrets_of(check), kind_of(check)
    try:
        leases = await _leased(
            run.ports.secrets,
            names,
            purpose=f"check {kind}",
            holder_id=f"{run.attempt_id}/{turn}/{kind}",
            ttl_s=MAX_TTL_S,
        )
    except EnvironmentFault as fault:
        return _not_run(kind, str(fault))
    loan = Loan(leases, turn=turn, holder=kind, action_id=None)
    try:
        await run.record(*loan.lent())
        result = await _verified(run, check, verifier, examination, loan.values)
    except ConflictError as error:
        if error.code != "revoked":
            raise
        return _not_run(kind, f"{error}; a revoked secret is lent to nobody")
    finally:
        returned = loan.release()
    await run.record(*returned)
    return result


async def _verified(
    run: Run,
    check: Check,
    verifier: Verifier,
    examination: Examination,
    values: dict[str, SecretStr],
) -> CheckResult:
    """Verify, and let nothing out that holds a value: no result, and no text of an error."""
    masks = run.ports.secrets.masks(values)
    lent = examination.model_copy(update={"secrets": values})
    work = verifier.verify(check, lent, run.ports.workspace)
    try:
        async with asyncio.timeout(MAX_TTL_S):
            result = await run.interruptible(work)
    except TimeoutError:
        return _not_run(kind_of(check), f"no end within {MAX_TTL_S:g} s, so long as it may hold it")
    except WorkStopped:
        raise
    except EnvironmentFault as fault:
        raise EnvironmentFault(masks.text(str(fault)), op=fault.op, code=fault.code) from None
    except CheckreinError:
        raise  # the store's and the lease's; no verifier words them
    except Exception as error:
        raise EnvironmentFault(
            f"{verifier.version} broke while it held a secret: {type(error).__name__}.",
            op="gate.judge",
            code="verifier_broken",
        ) from None
    return CheckResult.model_validate(masks.value(result.model_dump(mode="json")))


def _not_run(kind: str, why: str) -> CheckResult:
    return CheckResult(kind=kind, name=kind, status=CheckStatus.ERROR, gap=why)
