"""What `@capability` declares, checked: well-formed, and without contradicting itself."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from checkrein.adapters.function_effect import KEY, EffectFunctions
from checkrein.adapters.function_signature import Signature
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.proposal import ASK_USER
from checkrein.contracts.task import CapabilityName
from checkrein.errors import InputError
from checkrein.ports.capability import Capability, CapabilitySpec
from checkrein.ports.effect_contract import contradictions

DECLARE = "capability.declare"
"""The operation that errors of a declaration name."""

_NAMES: TypeAdapter[str] = TypeAdapter(CapabilityName)
_ENUMS = {"side_effect": SideEffect, "guarantee": Guarantee, "lookup": Lookup, "trust": Trust}
_FOR_CLASSES = (Guarantee.COMPARE_AND_SET, Guarantee.SAME_TRANSACTION)


def declared_terms(
    name: str, given: Mapping[str, Any], functions: EffectFunctions
) -> dict[str, Any]:
    """The fields of the spec that do not depend on the decorated function.

    Raises:
        InputError: one of them is malformed, or promises what a function cannot keep.
    """
    try:
        _NAMES.validate_python(name)
    except ValidationError as error:
        raise refused(
            f"The name {name[:80]!r} is malformed. Write lower-case words joined by dots, "
            "at most 64 characters, for example orders.lookup."
        ) from error
    if name == ASK_USER:
        raise refused(f"The name {ASK_USER} is taken by the harness. Choose another.")
    declared = dict(given)
    for field, kind in _ENUMS.items():
        try:
            declared[field] = kind(given[field])
        except ValueError as error:
            choices = ", ".join(kind)
            raise refused(
                f"{name}: {field} must be one of {choices}, not {given[field]!r}."
            ) from error
    declared["verifies"] = functions.verify is not None
    if declared["side_effect"] is SideEffect.READ:
        _check_read(name, declared, functions)
    else:
        _check_write(name, declared, functions)
    return declared


def _check_read(name: str, declared: Mapping[str, Any], functions: EffectFunctions) -> None:
    if (declared["guarantee"], declared["lookup"]) != (Guarantee.NONE, Lookup.NONE):
        raise refused(f"{name} is a READ and promises something about effects. Remove that.")
    for what in ("key", "find", "preview", "verify"):
        if getattr(functions, what) is not None:
            raise refused(f"{name} is a READ and has a {what}. A READ has no effect that needs it.")


def _check_write(name: str, declared: Mapping[str, Any], functions: EffectFunctions) -> None:
    if declared["guarantee"] in _FOR_CLASSES:
        raise refused(
            f"{name} promises {declared['guarantee']}, which is more than a plain function can "
            "say. Write a class with the methods of checkrein.ports.capability.Capability."
        )
    looks_up = declared["lookup"] is not Lookup.NONE
    if looks_up and functions.find is None:
        raise refused(
            f"{name} declares lookup {declared['lookup']}, but nothing asks its target. "
            "Add find=, an async function of the Effect that returns an Outcome or None."
        )
    if functions.find is not None and not looks_up:
        raise refused(
            f"{name} has a find but declares lookup none. Add lookup='authoritative', or "
            "'eventual' where absence proves nothing."
        )


def check_functions(name: str, functions: EffectFunctions) -> None:
    """Refuse what stands beside the function and is not async where it must be."""
    for what in ("find", "read_version", "verify"):
        function: Any = getattr(functions, what)
        # An object whose __call__ is async will do as well.
        called = getattr(function, "__call__", None)  # noqa: B004 - its kind is asked, not whether
        if function is not None and not (
            inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
        ):
            raise refused(f"{name}: {what} is not async. Write it as async def.")


def declared_spec(
    name: str, function: Callable[..., Any], signature: Signature, terms: dict[str, Any]
) -> CapabilitySpec:
    """The spec of a decorated function.

    Raises:
        InputError: it says nothing of what it does, a number is out of range, or it takes no key
            although its target needs one.
    """
    if terms["guarantee"] is Guarantee.ATOMIC_KEY and KEY not in signature.injected:
        raise refused(
            f"{name} promises atomic_key, but takes no key for its target. Add the keyword-only "
            f"parameter `{KEY}: str` after a `*`; it is filled in and no part of the schema."
        )
    about: dict[str, Any] = {
        "name": name,
        "description": terms["description"] or first_line(function, name),
        "parameters": signature.schema,
    }
    try:
        return CapabilitySpec(**(terms | about))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise refused(f"{name}: {where} cannot be used: {fault['msg']}.") from error


def check_contract(capability: Capability) -> None:
    """Refuse a capability whose declaration contradicts itself, with every problem at once."""
    problems = contradictions(capability)
    if problems:
        raise refused(" ".join(problems))


def check_async(function: Any, name: str) -> None:
    if not inspect.iscoroutinefunction(function):
        kind = "a class" if inspect.isclass(function) else "not async"
        raise refused(
            f"{name}: {getattr(function, '__name__', function)!s} is {kind}. "
            "Write it as async def; run blocking work in asyncio.to_thread."
        )


def first_line(function: Callable[..., Any], name: str) -> str:
    text = (inspect.getdoc(function) or "").strip()
    if not text:
        raise refused(f"{name} does not say what it does. Add a docstring or description=...")
    return text.splitlines()[0]


def refused(message: str) -> InputError:
    """The error that refuses a declaration."""
    return InputError(message, op=DECLARE, code="capability_unusable")
