"""One async function as a Capability: described, read, prepared and sent as its author declared."""

import functools
import json
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar

from checkrein.adapters.function_effect import (
    EffectFunctions,
    committed,
    failure,
    filled,
    unknown,
)
from checkrein.adapters.function_facts import NO_FACTS, FactArguments
from checkrein.adapters.function_result import bounded, plain
from checkrein.adapters.function_signature import Signature
from checkrein.contracts.action import SideEffect
from checkrein.contracts.codec import canonical
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
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
        signature: Signature,
        functions: EffectFunctions,
        facts: FactArguments = NO_FACTS,
    ) -> None:
        """Use `capability`, which checks the declaration."""
        functools.update_wrapper(self, function)
        self._function = function
        self._spec = spec
        self._signature = signature
        self._functions = functions
        self._facts = facts

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

        The declared `facts` are those of what the function would really be called with, its
        defaults among it.

        Raises:
            CapabilityError: a declared function failed (code resource_failed, version_failed), or
                an argument is not what the declared facts can be read from.
        """
        facts = await self._facts.of(self._signature, args, op=f"{self._spec.name}.facts")
        named = self._functions.named(self._spec, args)
        version = await self._functions.version(self._spec, args)
        return Description(resource=named, resource_version=version, facts=facts)

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Call the function and bound its result to 64 KiB.

        Raises:
            CapabilityError: the arguments do not fit, a constraint is asked for, or the function
                failed. Of an exception only the type is told; raise CapabilityError yourself to
                tell the model more.
        """
        op = f"{self._spec.name}.read"
        self._only(SideEffect.READ, constraints, op)
        arguments = self._signature.passed(args, op=op)
        try:
            result = await self._function(**arguments)  # type: ignore[call-arg] # bound to its own signature above
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
            preview_kind=self._functions.preview_kind(self._spec),
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
        arguments = self._signature.passed(json.loads(prepared.plan), op=op)
        arguments |= filled(self._signature.injected, permit)
        if not await still_owner():
            raise CapabilityError(
                "Another process owns this attempt now; nothing was sent.", op=op, code="not_owner"
            )
        try:
            result = await self._function(**arguments)  # type: ignore[call-arg] # bound to its own signature above
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
