"""`@capability`: an async function of yours becomes something that a model may ask for.

    @capability("orders.lookup", side_effect="READ", resource=lambda a: f"order:{a['order_id']}")
    async def lookup(order_id: str) -> dict[str, str]:
        \"\"\"Find one order by its number.\"\"\"
        ...

The decorated object is a Capability and stays callable as the function that it was. What is not
declared is taken at its worst: IRREVERSIBLE, with no promise about repeats, sent at most once.
"""

import functools
import json
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar

from checkrein.adapters.function_declaration import (
    DECLARE,
    check_async,
    declared_terms,
    first_line,
    refused,
)
from checkrein.adapters.function_result import bounded, plain
from checkrein.adapters.function_signature import FunctionSignature
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import canonical, visible
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)

P = ParamSpec("P")
R = TypeVar("R")

OfArgs = Callable[[dict[str, Any]], str]
"""Derives a text from the arguments: deterministic, without touching the world."""

_MAX_RESOURCE = 1024
_MAX_VALUE = 2_000
_PASSING = (ConnectionError, TimeoutError)


class FunctionCapability(Generic[P, R]):
    """One async function as a Capability. It has no versions, so that nothing can go stale."""

    def __init__(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        spec: CapabilitySpec,
        signature: FunctionSignature,
        *,
        resource: OfArgs | None,
        key: OfArgs | None,
    ) -> None:
        """Use `capability`, which checks the declaration."""
        functools.update_wrapper(self, function)
        self._function = function
        self._spec = spec
        self._signature = signature
        self._resource = resource
        self._key = key

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Call the function itself, past every gate: for code of yours, not for models."""
        return self._function(*args, **kwargs)

    @property
    def spec(self) -> CapabilitySpec:
        """The declared contract; constant."""
        return self._spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The declared `key` of the arguments, else the action's own id.

        Raises:
            CapabilityError: the declared function failed (code key_failed).
        """
        return action_id if self._key is None else self._derived("key", self._key, args)

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the object: the declared `resource` of the arguments, else the capability's name.

        Raises:
            CapabilityError: the declared function failed (code resource_failed).
        """
        return Description(resource=self._named(args), resource_version="")

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Call the function and bound its result to 64 KiB.

        Raises:
            CapabilityError: the arguments do not fit, a constraint is asked for, or the function
                failed. Of an exception only the type is told; raise CapabilityError yourself to
                tell the model more.
        """
        op = f"{self._spec.name}.read"
        self._only(SideEffect.READ, constraints, op)
        arguments = self._signature.bind(args, op=op)
        try:
            result = await self._function(**arguments)  # type: ignore[call-arg]
        except CapabilityError:
            raise
        except Exception as error:
            raise self._failure(error, op) from error
        shown, original = bounded(plain(result, op=op))
        return ReadResult(result=shown, truncated=original is not None, original=original)

    async def prepare(self, args: dict[str, Any]) -> Prepared:
        """Check the arguments and write down what would be called. Calls nothing.

        Raises:
            CapabilityError: the arguments do not fit.
        """
        self._signature.bind(args, op=f"{self._spec.name}.prepare")
        return Prepared(
            resource=self._named(args),
            from_version="",
            to_version="",
            preview=_preview(self._spec, args),
            plan=canonical(args),
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Call the function once. Its return is COMMITTED; any exception is UNKNOWN_EFFECT.

        Raises:
            CapabilityError: nothing was sent (a constraint is asked for; code not_owner: another
                owner took over), or the function itself raised one that says so.
        """
        op = f"{self._spec.name}.send"
        self._only(None, permit.constraints, op)
        arguments = self._signature.bind(json.loads(prepared.plan), op=op)
        if not await still_owner():
            raise CapabilityError(
                "Another process owns this attempt now; nothing was sent.", op=op, code="not_owner"
            )
        try:
            result = await self._function(**arguments)  # type: ignore[call-arg]
        except CapabilityError as error:
            if not error.effect_possible:
                raise
            return _unknown(error.code, error.advice or str(error))
        except Exception as error:
            return _unknown(type(error).__name__, f"{self._spec.name} ended without an answer.")
        return _committed(result, op)

    async def version(self, resource: str) -> str:
        """Always empty: a function's object has no version."""
        return ""

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Always None: a function cannot be asked what it did."""
        return None

    def _only(self, wanted: SideEffect | None, constraints: dict[str, Any], op: str) -> None:
        """Refuse a READ that is sent, a write that is read, and limits that nobody enforces."""
        is_read = self._spec.side_effect is SideEffect.READ
        if is_read != (wanted is SideEffect.READ):
            kind = "is a READ" if is_read else "is no READ"
            raise CapabilityError(f"{self._spec.name} {kind}.", op=op, code="not_supported")
        if constraints:
            raise CapabilityError(
                f"The limit {sorted(constraints)[0]} cannot be enforced on {self._spec.name}.",
                op=op,
                code="constraint_unavailable",
            )

    def _named(self, args: dict[str, Any]) -> str:
        if self._resource is None:
            return self._spec.name
        return self._derived("resource", self._resource, args)

    def _derived(self, what: str, function: OfArgs, args: dict[str, Any]) -> str:
        op = f"{self._spec.name}.{what}"
        try:
            text: Any = function(dict(args))
        except Exception as error:
            raise self._failure(error, op, code=f"{what}_failed") from error
        if not isinstance(text, str) or not 0 < len(text) <= _MAX_RESOURCE:
            raise CapabilityError(
                f"The {what} of {self._spec.name} is no text of 1 to {_MAX_RESOURCE} characters.",
                op=op,
                code=f"{what}_failed",
            )
        return visible(text)

    def _failure(
        self, error: Exception, op: str, *, code: str = "capability_failed"
    ) -> CapabilityError:
        """The error without the exception's text, which may hold a secret."""
        kind = type(error).__name__
        return CapabilityError(
            f"{self._spec.name} failed: {kind}.",
            op=op,
            code=code,
            retryable=isinstance(error, _PASSING),
            context={"error_type": kind},
        )


def capability(
    name: str,
    *,
    side_effect: SideEffect | str = SideEffect.IRREVERSIBLE,
    guarantee: Guarantee | str = Guarantee.NONE,
    lookup: Lookup | str = Lookup.NONE,
    description: str | None = None,
    resource: OfArgs | None = None,
    key: OfArgs | None = None,
    version: str = "1",
    trust: Trust | str = Trust.TOOL,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionCapability[P, R]]:
    """Declare an async function as a capability. Its typed parameters become the tool's schema.

    Args:
        name: as tasks grant it, for example orders.lookup.
        side_effect: READ, REVERSIBLE or IRREVERSIBLE; READ promises that nothing changes.
        guarantee: only none; a target that promises more needs a class of its own.
        lookup: only none, for the same reason.
        description: what the model is told; by default the docstring's first line.
        resource: names the object from the arguments, for policies, people and the ledger; by
            default the capability's name.
        key: the business key of a write from its arguments, so that a second proposal of the
            same act is the same act; by default every action is an act of its own.
        version: raise it when the meaning changes; approvals bind name@version.
        trust: how far the returned text may be believed.

    Raises:
        InputError: when decorating: the declaration is malformed or contradicts itself.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused('The decorator needs a name: write @capability("orders.lookup").')
    declared = declared_terms(name, side_effect, guarantee, lookup, trust)
    if declared["side_effect"] is SideEffect.READ and key is not None:
        raise refused(f"{name} is a READ and has a key. A READ has no effect that needs one.")

    def decorate(function: Callable[P, Coroutine[Any, Any, R]]) -> FunctionCapability[P, R]:
        check_async(function, name)
        signature = FunctionSignature(function, name=name, op=DECLARE)
        spec = CapabilitySpec(
            name=name,
            version=version,
            description=description or first_line(function, name),
            parameters=signature.schema,
            **declared,
        )
        return FunctionCapability(function, spec, signature, resource=resource, key=key)

    return decorate


def _preview(spec: CapabilitySpec, args: dict[str, Any]) -> str:
    """What would be called, for people."""
    lines = [spec.type]
    for name, value in sorted(args.items()):
        text = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        more = f" ... ({len(text) - _MAX_VALUE} more characters)" if len(text) > _MAX_VALUE else ""
        lines.append(f"  {name}: {text[:_MAX_VALUE]}{more}")
    return "\n".join(lines)


def _unknown(error_type: str, message: str) -> Outcome:
    return Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type=error_type, message=message)


def _committed(result: object, op: str) -> Outcome:
    """The receipt. A result that cannot be stored takes nothing from the fact that it happened."""
    try:
        shown, _ = bounded(plain(result, op=op))
    except CapabilityError as error:
        shown = {"unreadable_result": error.code}
    return Outcome(status=EffectStatus.COMMITTED, result=shown)
