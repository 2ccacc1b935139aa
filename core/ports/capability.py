"""Capabilities: what a model may ask for, each with what its target promises."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from pydantic import Field

from checkrein.contracts.action import Facts, Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import Frozen
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, Outcome

StillOwner = Callable[[], Awaitable[bool]]
"""Asks the store whether this process's fence is still the newest."""


class CapabilitySpec(Frozen):
    """The declared contract of one capability.

    Attributes:
        parameters: JSON Schema (draft 2020-12) of the arguments; closed objects are expected.
        enforces: names of policy constraints that the executor honours for it.
        trust: how far the text that it returns may be believed.
    """

    name: str
    version: str = "1"
    description: str
    parameters: dict[str, Any]
    side_effect: SideEffect = SideEffect.IRREVERSIBLE
    guarantee: Guarantee = Guarantee.NONE
    lookup: Lookup = Lookup.NONE
    enforces: frozenset[str] = frozenset()
    trust: Trust = Trust.TOOL

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
        preview: for people; a unified diff for files.
        plan: what `send` needs; opaque to everybody else.
        no_change: the target is already as asked; nothing need be sent.
    """

    resource: str
    from_version: str
    to_version: str
    preview: str
    plan: bytes = b""
    no_change: bool = False


class ReadResult(Frozen):
    """What a READ found."""

    result: dict[str, Any]
    version: str = ""
    truncated: bool = False
    original: bytes | None = None
    trust: Trust | None = None


class Permit(Frozen):
    """What `send` runs under: the key the target de-duplicates by, the bound hash, the limits."""

    effect_id: str
    key: str
    operation_hash: str
    fence: int
    constraints: dict[str, Any] = Field(default_factory=dict[str, Any])


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

    async def prepare(self, args: dict[str, Any]) -> Prepared:
        """Make a write ready without changing anything."""
        ...

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Make the effect. Only a definite answer is COMMITTED or REFUSED.

        For compare_and_set the swap is atomic against our own owners, and `still_owner` is asked
        inside it. Any doubt is UNKNOWN_EFFECT, as an Outcome or by raising.
        """
        ...

    async def version(self, resource: str) -> str:
        """Read the object's version now; `absent` where it does not exist."""
        ...

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Ask the target whether an effect happened; None where that proves nothing."""
        ...
