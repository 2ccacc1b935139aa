"""Capabilities: what a model may ask for, each with what its target promises."""

import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from pydantic import Field, SecretStr

from checkrein.contracts.action import Facts, Guarantee, Lookup, SideEffect
from checkrein.contracts.approval import Level, PreviewKind
from checkrein.contracts.codec import Frozen
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, Outcome
from checkrein.ports.transaction import Transaction

StillOwner = Callable[[], Awaitable[bool]]
"""Asks the store whether this process's fence is still the newest."""


class RetryPolicy(Frozen):
    """How often a send is repeated by the same owner, where repeating it does no harm.

    Attributes:
        tries: sends in all, the first included.
        first_s, factor, longest_s: the pause before the n-th repeat is drawn evenly between 0 and
            min(longest_s, first_s * factor ** (n - 1)) seconds, so that many do not come at once.
        window_s: no repeat begins later than so many seconds after the first send.
    """

    tries: int = Field(default=4, ge=1, le=20)
    first_s: float = Field(default=0.2, ge=0)
    factor: float = Field(default=2.0, ge=1)
    longest_s: float = Field(default=5.0, ge=0)
    window_s: float = Field(default=60.0, ge=0)

    def pause(self, n: int) -> float:
        """Draw the pause before the n-th repeat, in seconds."""
        longest = min(self.longest_s, self.first_s * self.factor ** (n - 1))
        return random.uniform(0, longest)  # noqa: S311 - spreads the load; nothing depends on it


PLAN = "plan.submit"
"""The capability by which a model hands in its plan; its acceptance ends plan mode."""

RESULT = "result.submit"
"""The capability by which a model hands in its result, where a person must accept it."""


class CapabilitySpec(Frozen):
    """The declared contract of one capability.

    Attributes:
        parameters: JSON Schema (draft 2020-12) of the arguments; closed objects are expected.
        guarantee, lookup: what its target promises; tested by `checkrein conformance target`.
        key_retention_s: for atomic_key, how long the target keeps its keys, in seconds.
        max_key_length: the longest key that the target takes, in characters.
        verifies: whether `verify` reads the real system back after a receipt.
        independent: whether it may run although an earlier effect of the turn is not settled.
        private: whether what it reads is private data, which must not leave afterwards.
        egress: whether it sends what it is given to somebody outside.
        environment: where it acts, for example production.
        compensates: the capability whose effects it undoes. Its argument `effect_id` names one.
        timeout_s: the longest that one call to the target may take; then a read has failed, and
            what became of a write is unknown.
        enforces: names of policy constraints that the executor honours for it.
        sandbox_profiles: values of the constraint sandbox_profile that it can honour; any other one
            is a denial.
        trust: how far the text that it returns may be believed.
        level: what is asked about where a person must decide; for a plan and a result a person
            is asked even where the policy allows it.
    """

    name: str
    version: str = "1"
    description: str
    parameters: dict[str, Any]
    side_effect: SideEffect = SideEffect.IRREVERSIBLE
    guarantee: Guarantee = Guarantee.NONE
    lookup: Lookup = Lookup.NONE
    key_retention_s: float | None = Field(default=None, gt=0)
    max_key_length: int = Field(default=255, ge=1)
    verifies: bool = False
    independent: bool = False
    private: bool = False
    egress: bool = False
    environment: str | None = None
    compensates: str | None = None
    timeout_s: float = Field(default=60.0, gt=0)
    retry: RetryPolicy = RetryPolicy()
    enforces: frozenset[str] = frozenset()
    sandbox_profiles: frozenset[str] = frozenset()
    trust: Trust = Trust.TOOL
    level: Level = Level.ACTION

    @property
    def type(self) -> str:
        """capability@version."""
        return f"{self.name}@{self.version}"

    @property
    def tool_name(self) -> str:
        """The name that providers accept for a tool: dots become underscores."""
        return self.name.replace(".", "_")


class Description(Frozen):
    """What a call is about: its object, the object's version now, and the derived facts."""

    resource: str
    resource_version: str
    facts: Facts = Facts()


class Prepared(Frozen):
    """A write made ready: what it would do, from which version to which.

    Attributes:
        preview, preview_kind: for people, and what it is; a unified diff for files. Whoever asks
            makes its hidden characters visible and bounds it.
        plan: what `send` needs; opaque to everybody else.
        secrets: names of the secrets that `send` is to be lent; the description's facts name the
            same, since a policy judged those.
        no_change: the target is already as asked; nothing need be sent.
    """

    resource: str
    from_version: str
    to_version: str
    preview: str
    preview_kind: PreviewKind = PreviewKind.TEXT
    plan: bytes = b""
    secrets: list[str] = Field(default_factory=list[str])
    no_change: bool = False


class ReadResult(Frozen):
    """What a READ found."""

    result: dict[str, Any]
    version: str = ""
    truncated: bool = False
    original: bytes | None = None
    trust: Trust | None = None


class Permit(Frozen):
    """What `send` runs under.

    Attributes:
        effect_id: the ledger's row, and the scoped key: derived from tenant, resource and key, of
            constant length. Targets with atomic keys are given this one.
        key: the business key as the capability made it.
        operation_hash: what was bound under the key; the target binds it too where it can.
        fence: grows with every owner; the target checks it where it can.
        constraints: the policy's limits, enforced by the capability.
        secrets: values by name, lent for this act alone. Hand them to the one process or request
            that needs them, and keep none. What it says in answer is masked afterwards.
    """

    effect_id: str
    key: str
    operation_hash: str
    fence: int
    constraints: dict[str, Any] = Field(default_factory=dict[str, Any])
    secrets: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr], exclude=True, repr=False
    )


class Capability(Protocol):
    """One thing that can be done. All methods raise CapabilityError for what a model can mend."""

    @property
    def spec(self) -> CapabilitySpec:
        """The declared contract; constant."""
        ...

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The business key: by default the action id. Constant for equal inputs."""
        ...

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the object and derive the facts that policies match. Changes nothing."""
        ...

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Run a READ. Only called where the spec says READ."""
        ...

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Make a write ready without changing anything; `preview` only where people will look.

        A preview that cannot be made raises anything but CapabilityError, or EnvironmentFault with
        the code preview_unavailable: what nobody can be shown is not asked for, but denied.
        """
        ...

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Make the effect. Only a definite answer is COMMITTED or REFUSED.

        For compare_and_set the swap is atomic against our own owners, and `still_owner` is asked
        inside it. Any doubt is UNKNOWN_EFFECT, as an Outcome or by raising.
        """
        ...

    async def version(self, resource: str) -> str:
        """Read the object's version now; `absent` where it does not exist.

        For compare_and_set it is read under the lock of the swap, so that no swap of a former owner
        is on its way while it is read; what is read then proves whether one happened. Raises where
        the lock cannot be had.
        """
        ...

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Ask the target whether an effect happened: COMMITTED with our hash, or None.

        None proves nothing: a request that is still on its way may arrive. Raises where the target
        cannot be asked now.
        """
        ...


class Verification(Frozen):
    """What reading the real system back said of an effect that has its receipt."""

    holds: bool
    detail: str = ""


@runtime_checkable
class Verifies(Protocol):
    """A capability that declares `verifies`."""

    async def verify(self, effect: Effect) -> Verification:
        """Read the real system; changes nothing. Raising means that it does not hold.

        `effect` holds its receipt: effect.outcome is what `send` or `lookup` had said.
        """
        ...


@runtime_checkable
class Applies(Protocol):
    """A capability that declares same_transaction: it changes rows of our own Postgres."""

    async def apply(self, prepared: Prepared, permit: Permit, transaction: Transaction) -> Outcome:
        """Make the effect inside the transaction that will hold its receipt; never commits.

        Any outcome but COMMITTED, and any error, rolls everything back: nothing happened.
        """
        ...
