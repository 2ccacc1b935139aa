"""An action: what the model wants to do, made precise enough to be judged."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen, digest_of
from checkrein.contracts.context import Trust


class SideEffect(StrEnum):
    """What running a capability can do to the world. Undeclared means IRREVERSIBLE."""

    READ = "READ"
    REVERSIBLE = "REVERSIBLE"
    IRREVERSIBLE = "IRREVERSIBLE"


class Guarantee(StrEnum):
    """What the target promises about a repeated send (spec 4).

    Attributes:
        ATOMIC_KEY: one effect for each key, however often and concurrently it is sent; the same key
            with other arguments is refused; for as long as the target keeps its keys.
        COMPARE_AND_SET: a swap from a known version to a known version; doing it twice is doing it
            once, and the version says whether it happened.
        SAME_TRANSACTION: in our own Postgres, committed together with its receipt.
        NONE: nothing; it is sent at most once.
    """

    ATOMIC_KEY = "atomic_key"
    COMPARE_AND_SET = "compare_and_set"
    SAME_TRANSACTION = "same_transaction"
    NONE = "none"


class Lookup(StrEnum):
    """What reading the target back proves. EVENTUAL: absence proves nothing."""

    AUTHORITATIVE = "authoritative"
    EVENTUAL = "eventual"
    NONE = "none"


class ActionStatus(StrEnum):
    """Where an action stands. A failed action does not fail the task.

    SUPERSEDED: it will never run; a person put other arguments or the result itself in its place.
    """

    PROPOSED = "PROPOSED"
    VALIDATED = "VALIDATED"
    AUTHORIZED = "AUTHORIZED"
    WAITING_APPROVAL = "WAITING_APPROVAL"
    DENIED = "DENIED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    PENDING = "PENDING"
    UNKNOWN_EFFECT = "UNKNOWN_EFFECT"
    CANCELLED = "CANCELLED"
    SUPERSEDED = "SUPERSEDED"


class PathFact(Frozen):
    """A path argument, resolved by the harness; policies match `segments`, never raw strings.

    Attributes:
        param: the argument that held it.
        segments: the path below the workspace root, split; empty for the root itself.
        inside: whether it lies inside the workspace once every link is followed.
        exists: whether something is there.
        symlink: whether any part of it is a symbolic link.
    """

    param: str
    segments: list[str]
    inside: bool
    exists: bool
    symlink: bool


class AddressClass(StrEnum):
    """What a host is, read from its text alone; a name is resolved by whoever connects."""

    NAME = "name"
    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link_local"
    RESERVED = "reserved"


class UrlFact(Frozen):
    """A URL argument, parsed by the harness; policies match these parts, never raw strings.

    Attributes:
        param: the argument that held it, or empty where the capability declares the address.
        scheme: lower case.
        host: lower case, IDNA, without a trailing dot; an address in its canonical form, an IPv4
            address inside an IPv6 one taken out.
        has_userinfo: whether something stands before an @, as in https://good.example@evil.example.
    """

    param: str = ""
    scheme: str
    host: str
    port: int = Field(ge=0, le=65_535)
    has_userinfo: bool = False
    address: AddressClass = AddressClass.NAME
    method: str = ""


class Facts(Frozen):
    """What the harness derived from the arguments before the policy sees them.

    Attributes:
        amount_minor, currency: money in the currency's smallest unit, and its ISO code.
        argv: the words of a command, never a line of a shell.
        rows, tables: how many rows of which tables a change of a database would touch.
        secret_hits: how many things in the arguments look like credentials.
        secret_names: the secrets that would be lent to it, by name, sorted; never their values.
    """

    paths: list[PathFact] = Field(default_factory=list[PathFact])
    urls: list[UrlFact] = Field(default_factory=list[UrlFact])
    amount_minor: int | None = None
    currency: str | None = None
    argv: list[str] = Field(default_factory=list[str])
    rows: int | None = Field(default=None, ge=0)
    tables: list[str] = Field(default_factory=list[str])
    secret_hits: int = Field(default=0, ge=0)
    secret_names: list[str] = Field(default_factory=list[str])
    bytes: int = Field(default=0, ge=0)


class Provenance(Frozen):
    """Where a proposal came from: the turn's context and the least trusted text in it."""

    turn: int
    context: str
    lowest_trust: Trust


class Action(Frozen):
    """One logical action. `action_id` is derived, so computing it again gives the same id.

    Attributes:
        type: capability@version.
        args_hash: digest of the canonical arguments.
        resource: what the capability names as its object, for example file:src/a.py.
        idempotency_key: the business key under which the target de-duplicates.
        compensates: the effect that this action is meant to undo; that effect stays on the record.
        revision: 0 as the model wrote it; each edit by a person makes the next one, another action.
        edited_by: whose arguments these are, where they are not the model's.
    """

    schema_version: Literal[1] = 1
    action_id: str
    attempt_id: str
    turn: int
    position: int
    revision: int = 0
    call_id: str
    actor: str
    type: str
    args: dict[str, Any]
    args_hash: str
    resource: str
    side_effect_class: SideEffect
    idempotency_key: str
    compensates: str | None = None
    edited_by: str | None = None
    provenance: Provenance
    status: ActionStatus = ActionStatus.VALIDATED

    @property
    def capability(self) -> str:
        """The capability's name without its version."""
        return self.type.rpartition("@")[0]


def operation_hash(action: Action, constraints: dict[str, Any]) -> str:
    """What a grant and an effect bind: arguments, capability, resource and constraints."""
    return digest_of([action.args_hash, action.type, action.resource, constraints])
