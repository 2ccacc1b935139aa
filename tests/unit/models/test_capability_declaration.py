"""A declaration of `@capability` is well-formed and does not contradict itself, or is refused."""

from typing import Any

import pytest

from checkrein.adapters.function_capability import capability
from checkrein.errors import InputError


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"name": "Orders Lookup"}, "is malformed. Write lower-case words joined by dots"),
        ({"name": "a" * 65}, "is malformed"),
        ({"name": "ask_user"}, "is taken by the harness"),
        ({"side_effect": "NONE"}, "side_effect must be one of READ, REVERSIBLE, IRREVERSIBLE"),
        ({"trust": "full"}, "trust must be one of platform"),
        ({"side_effect": "READ", "guarantee": "compare_and_set"}, "is a READ and promises"),
        ({"side_effect": "READ", "lookup": "authoritative"}, "is a READ and promises"),
        ({"side_effect": "READ", "key": len}, "is a READ and has a key"),
        ({"guarantee": "compare_and_set"}, "has no version to compare and cannot be asked"),
        ({"lookup": "eventual"}, "has no version to compare and cannot be asked"),
    ],
)
def test_declaration_that_is_malformed_or_contradicts_itself(
    declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        declare: Any = capability
        declare(**({"name": "a.b"} | declared))
    assert message in str(caught.value)
    assert caught.value.op == "capability.declare"


def sync(a: int) -> None:
    """Sync."""


async def untyped(a: int) -> None:
    """Untyped."""


del untyped.__annotations__["a"]


async def open_ended(**more: int) -> None:
    """Open."""


async def listed(*more: int) -> None:
    """Listed."""


async def nameless(a: int, /) -> None:
    """Nameless."""


class Unknown:
    """JSON has nothing of it."""


async def unknown(a: Unknown) -> None:
    """Unknown."""


async def silent(a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (sync, "sync is not async. Write it as async def"),
        (Unknown, "is a class"),
        (untyped, "'a' of a.b has no type"),
        (open_ended, "'more' of a.b takes any name"),
        (listed, "'more' of a.b takes any number of values"),
        (nameless, "'a' of a.b is positional only"),
        (unknown, "cannot be described as JSON"),
        (silent, "does not say what it does. Add a docstring"),
    ],
)
def test_function_that_cannot_be_a_capability(function: object, message: str) -> None:
    declare: Any = capability("a.b")
    with pytest.raises(InputError) as caught:
        declare(function)
    assert message in str(caught.value)


def test_decorator_without_a_name_says_how_to_write_it() -> None:
    bare: Any = capability
    with pytest.raises(InputError, match=r'write @capability\("orders\.lookup"\)'):
        bare(silent)
