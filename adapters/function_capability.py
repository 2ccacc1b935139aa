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
    check_contract,
    check_functions,
    declared_spec,
    declared_terms,
    refused,
)
from checkrein.adapters.function_effect import (
    INJECTED,
    EffectFunctions,
    Find,
    OfArgs,
    Preview,
    ReadVersion,
    Verify,
    committed,
    failure,
    filled,
    unknown,
)
from checkrein.adapters.function_result import bounded, plain
from checkrein.adapters.function_signature import FunctionSignature
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import canonical
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    RetryPolicy,
    StillOwner,
    Verification,
)

P = ParamSpec("P")
R = TypeVar("R")


class FunctionCapability(Generic[P, R]):
    """One async function as a Capability. Its object has a version where one is declared."""

    def __init__(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        spec: CapabilitySpec,
        signature: FunctionSignature,
        functions: EffectFunctions,
    ) -> None:
        """Use `capability`, which checks the declaration."""
        functools.update_wrapper(self, function)
        self._function = function
        self._spec = spec
        self._signature = signature
        self._functions = functions

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
        return self._functions.keyed(self._spec, action_id, args)

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the object: the declared `resource` of the arguments, else the capability's name.

        Raises:
            CapabilityError: a declared function failed (code resource_failed, version_failed).
        """
        named = self._functions.named(self._spec, args)
        version = await self._functions.version(self._spec, args)
        return Description(resource=named, resource_version=version)

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
            raise failure(self._spec, error, op) from error
        shown, original = bounded(plain(result, op=op))
        return ReadResult(result=shown, truncated=original is not None, original=original)

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Check the arguments and write down what would be called. Does not call it.

        Raises:
            CapabilityError: the arguments do not fit, or a declared function failed.
            EnvironmentFault: the declared preview failed (code preview_unavailable).
        """
        self._signature.bind(args, op=f"{self._spec.name}.prepare")
        return Prepared(
            resource=self._functions.named(self._spec, args),
            from_version=await self._functions.version(self._spec, args),
            to_version="",
            preview=await self._functions.shown(self._spec, args) if preview else "",
            plan=canonical(args),
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Call the function once. Its return is COMMITTED; any exception is UNKNOWN_EFFECT.

        Where the function takes `idempotency_key` or `operation_hash`, they are filled in from
        the permit.

        Raises:
            CapabilityError: nothing was sent (a constraint is asked for; code not_owner: another
                owner took over), or the function itself raised one that says so.
        """
        op = f"{self._spec.name}.send"
        self._only(None, permit.constraints, op)
        arguments = self._signature.bind(json.loads(prepared.plan), op=op)
        arguments |= filled(self._signature.injected, permit)
        if not await still_owner():
            raise CapabilityError(
                "Another process owns this attempt now; nothing was sent.", op=op, code="not_owner"
            )
        try:
            result = await self._function(**arguments)  # type: ignore[call-arg]
        except CapabilityError as error:
            if not error.effect_possible:
                raise
            return unknown(error.code, error.advice or str(error))
        except Exception as error:
            return unknown(type(error).__name__, f"{self._spec.name} ended without an answer.")
        return committed(result, op)

    async def version(self, resource: str) -> str:
        """Always empty: `read_version` needs the arguments, which a resource's name is not."""
        return ""

    async def lookup(self, effect: Effect) -> Outcome | None:
        """What the declared `find` says; None where none is declared.

        Raises:
            CapabilityError: the target cannot be asked now (code target_unreachable).
        """
        return await self._functions.found(self._spec, effect)

    async def verify(self, effect: Effect) -> Verification:
        """What the declared `verify` says.

        Raises:
            CapabilityError: none is declared (code not_supported), or it failed (verify_failed).
        """
        return await self._functions.verified(self._spec, effect)

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
    key_retention_s: float | None = None,
    max_key_length: int = 255,
    timeout_s: float = 60.0,
    independent: bool = False,
    compensates: str | None = None,
    private: bool = False,
    egress: bool = False,
    environment: str | None = None,
    retry: RetryPolicy | None = None,
    find: Find | None = None,
    read_version: ReadVersion | None = None,
    preview: Preview | None = None,
    verify: Verify | None = None,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionCapability[P, R]]:
    """Declare an async function as a capability. Its typed parameters become the tool's schema.

    A write may take the keyword-only parameters `idempotency_key: str` and `operation_hash: str`.
    They are filled in from the ledger and are no part of the schema: hand both to the target.

    Args:
        name: as tasks grant it, for example orders.lookup.
        side_effect: READ, REVERSIBLE or IRREVERSIBLE; READ promises that nothing changes.
        guarantee: none, or atomic_key; a target that promises more needs a class of its own.
        lookup: what `find` proves: authoritative, or eventual where absence proves nothing.
        description: what the model is told; by default the docstring's first line.
        resource: names the object from the arguments, for policies, people and the ledger; by
            default the capability's name.
        key: the business key of a write from its arguments, so that a second proposal of the
            same act is the same act; by default every action is an act of its own.
        version: raise it when the meaning changes; approvals bind name@version.
        trust: how far the returned text may be believed.
        key_retention_s: for atomic_key, for how many seconds the target keeps its keys.
        max_key_length: the longest key that the target takes, in characters.
        timeout_s: the longest that one call may take, in seconds.
        independent: it may run although an earlier effect of the turn is not settled.
        compensates: the capability whose effects it undoes; its argument `effect_id` names one.
        private: whether what it returns is private data, which must not leave afterwards.
        egress: whether it sends what it is given to somebody outside.
        environment: where it acts, for example production.
        retry: how a send is repeated where that does no harm.
        find: asks the target whether an effect happened; goes with `lookup`.
        read_version: the object's version now; a grant binds it and goes stale when it changes.
        preview: says for people what would happen; by default the call itself.
        verify: reads the real system back after a receipt.

    Raises:
        InputError: the declaration is malformed or contradicts itself (code capability_unusable).
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused('The decorator needs a name: write @capability("orders.lookup").')
    functions = EffectFunctions(resource, key, read_version, preview, find, verify)
    check_functions(name, functions)
    given = {
        "side_effect": side_effect,
        "guarantee": guarantee,
        "lookup": lookup,
        "description": description,
        "version": version,
        "trust": trust,
        "key_retention_s": key_retention_s,
        "max_key_length": max_key_length,
        "timeout_s": timeout_s,
        "independent": independent,
        "compensates": compensates,
        "private": private,
        "egress": egress,
        "environment": environment,
        "retry": retry or RetryPolicy(),
    }
    return _declaring(name, declared_terms(name, given, functions), functions)


def _declaring(
    name: str, terms: dict[str, Any], functions: EffectFunctions
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionCapability[P, R]]:
    """The decorator itself, once everything that does not need the function is checked."""
    injectable = frozenset[str]() if terms["side_effect"] is SideEffect.READ else INJECTED

    def decorate(function: Callable[P, Coroutine[Any, Any, R]]) -> FunctionCapability[P, R]:
        check_async(function, name)
        signature = FunctionSignature(function, name=name, op=DECLARE, injectable=injectable)
        spec = declared_spec(name, function, signature, terms)
        declared = FunctionCapability(function, spec, signature, functions)
        check_contract(declared)
        return declared

    return decorate
