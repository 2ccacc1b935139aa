"""What `@capability` declares, checked: well-formed, and without contradicting itself."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.proposal import ASK_USER
from checkrein.contracts.task import CapabilityName
from checkrein.errors import InputError

DECLARE = "capability.declare"
"""The operation that errors of a declaration name."""

_NAMES: TypeAdapter[str] = TypeAdapter(CapabilityName)
_ENUMS = (SideEffect, Guarantee, Lookup, Trust)


def declared_terms(
    name: str,
    side_effect: SideEffect | str,
    guarantee: Guarantee | str,
    lookup: Lookup | str,
    trust: Trust | str,
) -> dict[str, Any]:
    try:
        _NAMES.validate_python(name)
    except ValidationError as error:
        raise refused(
            f"The name {name[:80]!r} is malformed. Write lower-case words joined by dots, "
            "at most 64 characters, for example orders.lookup."
        ) from error
    if name == ASK_USER:
        raise refused(f"The name {ASK_USER} is taken by the harness. Choose another.")
    declared: dict[str, Any] = {}
    given = {"side_effect": side_effect, "guarantee": guarantee, "lookup": lookup, "trust": trust}
    for (field, value), kind in zip(given.items(), _ENUMS, strict=True):
        try:
            declared[field] = kind(value)
        except ValueError as error:
            choices = ", ".join(kind)
            raise refused(f"{name}: {field} must be one of {choices}, not {value!r}.") from error
    promises = (declared["guarantee"], declared["lookup"]) != (Guarantee.NONE, Lookup.NONE)
    if promises and declared["side_effect"] is SideEffect.READ:
        raise refused(f"{name} is a READ and promises something about effects. Remove that.")
    if promises:
        raise refused(
            f"{name} promises {declared['guarantee']} and lookup {declared['lookup']}, but a plain "
            "function has no version to compare and cannot be asked. Write a class with the "
            "methods of checkrein.ports.capability.Capability."
        )
    return declared


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
