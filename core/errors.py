"""One root error and its few subclasses. Control signals (interrupts, drains) are no errors.

Every error carries what a program needs (code, op, retryable, context) and reads as one message
for a person: what happened, where, and what to do next.
"""

from collections.abc import Mapping


class CheckreinError(Exception):
    """Root of every error that Checkrein raises.

    Attributes:
        code: snake_case name of the fault, stable across versions.
        op: the operation in which it happened, for example "task.load".
        retryable: whether the same call may succeed later without anything being changed.
        context: small JSON-like facts (paths, ids, numbers); never secrets.
    """

    code = "internal"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        op: str,
        code: str | None = None,
        retryable: bool | None = None,
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.code = code or type(self).code
        self.retryable = type(self).retryable if retryable is None else retryable
        self.context = dict(context or {})


class InputError(CheckreinError):
    """What a person or program handed in cannot be used; nothing was changed."""

    code = "unusable_input"


class BusyError(CheckreinError):
    """Another owner holds the attempt; nothing was touched."""

    code = "attempt_busy"
    retryable = True


class LeaseLostError(CheckreinError):
    """This process no longer owns the attempt: its fence is old and its write was refused."""

    code = "lease_lost"


class ConflictError(CheckreinError):
    """The store refused a write: an illegal transition, a second decision, a reused key."""

    code = "conflict"


class BudgetExceededError(CheckreinError):
    """A reservation does not fit in what is left of a budget. `context` names the budget."""

    code = "budget_exhausted"


class StoreError(CheckreinError):
    """Postgres cannot be reached, is too old, or holds a schema that this version cannot use."""

    code = "store_unavailable"


class ModelError(CheckreinError):
    """The model or its protocol failed; `retryable` says whether the fault may pass."""

    code = "model_error"


class EnvironmentFault(CheckreinError):  # noqa: N818 - the specification's word for it
    """The machine cannot honour what the task asks for, or a part of it is broken."""

    code = "environment_error"


class IntegrityError(CheckreinError):
    """Stored bytes do not match their recorded hash."""

    code = "integrity"


class CapabilityError(CheckreinError):
    """A capability could not do what was asked. It becomes an observation, never a crash.

    Attributes:
        advice: one sentence for the model: how to mend the call.
        effect_possible: whether something may have changed outside all the same.
    """

    code = "capability_failed"

    def __init__(
        self,
        message: str,
        *,
        op: str,
        code: str | None = None,
        advice: str = "",
        retryable: bool = False,
        effect_possible: bool = False,
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, op=op, code=code, retryable=retryable, context=context)
        self.advice = advice
        self.effect_possible = effect_possible


class DeliveryError(CheckreinError):
    """A message could not be delivered. It is tried again later, unless that is `final`.

    Attributes:
        final: whether no later try can end otherwise.
        wait_s: how long the receiver asks to be left alone, at the least.
    """

    code = "not_delivered"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        op: str,
        final: bool = False,
        wait_s: float = 0.0,
    ) -> None:
        super().__init__(message, op=op, retryable=not final)
        self.final = final
        self.wait_s = wait_s
