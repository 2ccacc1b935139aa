"""A declaration of `@capability` is well-formed and does not contradict itself, or is refused."""

from typing import Any

import pytest

from checkrein.adapters.function_capability import capability
from checkrein.contracts.effect import Effect
from checkrein.errors import InputError


async def found(effect: Effect) -> None:
    """Nothing is ever found."""


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
        ({"side_effect": "READ", "find": found}, "is a READ and has a find"),
        ({"side_effect": "READ", "preview": str}, "is a READ and has a preview"),
        ({"side_effect": "READ", "verify": found}, "is a READ and has a verify"),
        ({"guarantee": "compare_and_set"}, "promises compare_and_set, which is more than a plain"),
        ({"guarantee": "same_transaction"}, "Write a class with the methods"),
        ({"lookup": "eventual"}, "declares lookup eventual, but nothing asks its target. Add find"),
        ({"find": found}, "has a find but declares lookup none"),
        ({"find": print, "lookup": "eventual"}, "find is not async. Write it as async def"),
        ({"verify": print}, "verify is not async"),
        ({"read_version": print}, "read_version is not async"),
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


async def plain(a: int) -> None:
    """Plain."""


async def keyed(a: int, *, idempotency_key: str) -> None:
    """Keyed."""


async def numbered(a: int, *, idempotency_key: int) -> None:
    """Numbered."""


async def positional(a: int, idempotency_key: str) -> None:
    """Positional."""


KEYS: dict[str, Any] = {"guarantee": "atomic_key", "key_retention_s": 3600}


@pytest.mark.parametrize(
    ("declared", "function", "message"),
    [
        (KEYS, plain, "Add the keyword-only parameter `idempotency_key: str` after a `*`"),
        (KEYS, positional, "takes no key for its target"),
        (KEYS, numbered, "'idempotency_key' of a.b is filled in as a str"),
        (KEYS | {"key_retention_s": None}, keyed, "atomic_key without key_retention_s"),
        (KEYS | {"key_retention_s": 30}, keyed, "keeps keys for 30 s, but sends are repeated"),
        (KEYS | {"key_retention_s": -1}, keyed, "key_retention_s cannot be used"),
        (KEYS | {"max_key_length": 20}, keyed, "keys of at most 20 characters, but ours have 28"),
        ({"key_retention_s": 60}, plain, "declares key_retention_s, but not the guarantee"),
        ({"timeout_s": 0}, plain, "timeout_s cannot be used"),
        ({"compensates": "a.b", "max_key_length": 1}, plain, "compensates itself"),
        ({"compensates": "a.c"}, plain, "has no parameter `effect_id`"),
    ],
)
def test_effect_contract_that_cannot_be_kept_is_refused_where_it_is_written(
    declared: dict[str, Any], function: Any, message: str
) -> None:
    """Protects the ledger, which repeats sends because of what is declared here."""
    with pytest.raises(InputError) as caught:
        capability("a.b", **declared)(function)
    assert message in str(caught.value)
    assert caught.value.code == "capability_unusable"
