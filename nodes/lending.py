"""Lending secrets to one action or one check: judged first, on record, given back in any case.

A value lives in the loan and in what holder it is handed to. What the holder says in answer is
masked before any of it is recorded.
"""

import asyncio
import traceback
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Any

from pydantic import SecretStr

from checkrein.contracts.action import Guarantee
from checkrein.contracts.check import Check, kind_of, secrets_of
from checkrein.contracts.effect import Outcome
from checkrein.contracts.event import Payload, SecretLeased, SecretReleased
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import (
    CapabilityError,
    CheckreinError,
    ConflictError,
    EnvironmentFault,
    LeaseLostError,
    StoreError,
)
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
        self._owed: list[Payload] = []
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

    def stands(self) -> None:
        """What `lent` told is on record: so must be that it was given back."""
        self._owed = [SecretReleased(name=lease.name, **self._about) for lease in self._leases]

    def release(self) -> list[Payload]:
        """Give all back; returns what goes on record then, until `settled` says that it is."""
        leases, self._leases = self._leases, []
        for lease in leases:
            lease.release()
        return self._owed

    def settled(self) -> None:
        """What `release` told is on record."""
        self._owed = []


@asynccontextmanager
async def given_back(run: Run, loan: Loan) -> AsyncGenerator[None]:
    """Give back what was lent however the work with it ends, and have it on record.

    Where the store takes no more from this owner, the error that ends the work says so besides; the
    lease's end is on record then.
    """
    try:
        yield
    except BaseException as error:
        try:
            await run.record(*loan.release())
        except CheckreinError as fault:
            error.add_note(f"That its secrets were given back is not on record: {fault}")
        raise
    finally:
        loan.release()


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
    """Run one check with the secrets that it names.

    One that cannot have them is an ERROR, and so is one whose verifier breaks.

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
    async with given_back(run, loan):
        try:
            await run.record(*loan.lent())
        except ConflictError as error:
            if error.code != "revoked":
                raise
            return _not_run(kind, f"{error}; a revoked secret is lent to nobody")
        loan.stands()
        result = await _verified(run, check, verifier, examination, loan.values)
        await run.record(*loan.release())
        loan.settled()
    return result


async def _verified(
    run: Run,
    check: Check,
    verifier: Verifier,
    examination: Examination,
    values: dict[str, SecretStr],
) -> CheckResult:
    """Verify, and let nothing out that holds a value: no result, and no text of an error.

    A verifier is foreign code, as a capability is: whatever it raises ends in a word, and not in a
    crash that every recovery would meet again.
    """
    masks, kind = run.ports.secrets.masks(values), kind_of(check)
    lent = examination.model_copy(update={"secrets": values})
    work = verifier.verify(check, lent, run.ports.workspace)
    limit = asyncio.timeout(MAX_TTL_S if values else None)
    try:
        async with limit:
            result = await run.interruptible(work)
    except (WorkStopped, LeaseLostError, StoreError):
        raise
    except EnvironmentFault as fault:
        told = masks.text(str(fault))
        raise EnvironmentFault(told, op=fault.op, code=fault.code, retryable=fault.retryable) from (
            None if values else fault
        )
    except CheckreinError as error:
        return _not_run(kind, masks.text(str(error)))
    except Exception as error:
        if limit.expired():
            return _not_run(kind, f"no end within {MAX_TTL_S:g} s, so long as it may hold it")
        return _not_run(kind, f"{verifier.version} broke: {_place_of(error)}")
    return CheckResult.model_validate(masks.value(result.model_dump(mode="json")))


def _place_of(error: Exception) -> str:
    """The error's type and where it was raised; never its text, which may hold anything."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(last.filename).name}:{last.lineno}"


def _not_run(kind: str, why: str) -> CheckResult:
    return CheckResult(kind=kind, name=kind, status=CheckStatus.ERROR, gap=why)
