"""What policies are told of a plain function's arguments: named once, then parsed like all others.

    @capability("web.post", egress=True, facts={"urls": "url"})
    async def post(url: str, text: str) -> None: ...

The same code takes apart what the built-in capabilities are given, so that one rule on hosts,
commands, paths or money judges all of them alike.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from checkrein.adapters.addresses import url_fact
from checkrein.adapters.command_words import words_of
from checkrein.adapters.function_declaration import refused
from checkrein.adapters.function_signature import Signature
from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.contracts.action import Facts, PathFact, UrlFact
from checkrein.contracts.codec import canonical
from checkrein.errors import CapabilityError

MAX_VALUES = 256
"""Most addresses, or paths, that one argument may list."""

_CURRENCY = re.compile(r"[A-Z]{3}")
_MAX_INTEGER = 2**53 - 1
_KINDS = {
    "urls": {"string", "array", "null"},
    "paths": {"string", "array", "null"},
    "argv": {"array"},
    "amount_minor": {"integer"},
    "currency": {"string"},
}
"""The facts that arguments are named for, with the JSON types that they can be read from."""


class FactSources(TypedDict, total=False):
    """Which arguments hold what policies judge. One name, or a list of names.

    Attributes:
        urls: arguments that hold a URL or a list of them. An entry with :// is a fixed address, for
            a function that always calls the same service.
        paths: arguments that hold a path below `root`, or a list of them.
        root: the folder below which the function takes its paths; absolute.
        argv: the argument that holds a command as a list of words.
        amount_minor: the argument that holds an amount as a whole number of the currency's
            smallest unit.
        currency: the argument that holds its ISO code, or the code itself where it never changes.
    """

    urls: str | Sequence[str]
    paths: str | Sequence[str]
    root: str | Path
    argv: str
    amount_minor: str
    currency: str


@dataclass(frozen=True)
class FactArguments:
    """The declared facts of one function, checked; `of` reads them from a call."""

    urls: tuple[str, ...] = ()
    fixed: tuple[UrlFact, ...] = ()
    paths: tuple[str, ...] = ()
    root: GuardedFolder | None = None
    argv: str | None = None
    amount_minor: str | None = None
    currency: str | None = None
    code: str | None = None

    async def of(self, signature: Signature, args: dict[str, Any], *, op: str) -> Facts:
        """The facts of what the function would be called with: its defaults are among it.

        Raises:
            CapabilityError: the arguments do not fit (code invalid_arguments), or one of them is
                not what its fact can be read from (url_refused, argv_refused, fact_unreadable). A
                fact is never left out because it could not be read.
        """
        size = len(canonical(args))
        if self == NO_FACTS:
            return Facts(bytes=size)
        values = signature.bind(args, op=op)
        code = self.code if self.currency is None else _code(values, self.currency, op)
        amount = None if self.amount_minor is None else _amount(values, self.amount_minor, op)
        return Facts(
            urls=[*self.fixed, *(_url(*item, op) for item in _each(values, self.urls, op))],
            paths=await self._located(_each(values, self.paths, op)),
            argv=[] if self.argv is None else _words(values, self.argv, op),
            amount_minor=amount,
            currency=code,
            bytes=size,
        )

    async def _located(self, named: list[tuple[str, str]]) -> list[PathFact]:
        root = self.root
        if root is None or not named:
            return []
        return await asyncio.to_thread(lambda: [root.locate(*item) for item in named])


NO_FACTS = FactArguments()
"""Nothing is declared."""


def declared_facts(name: str, given: FactSources | None, signature: Signature) -> FactArguments:
    """The declaration, held against the function's parameters.

    Raises:
        InputError: it names no fact, no parameter, or one that its fact cannot be read from.
    """
    if given is None:
        return NO_FACTS
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(f'{name}: facts must be a dict such as {{"urls": "url"}}.')
    for fact in given:
        if fact not in FactSources.__annotations__:
            known = ", ".join(FactSources.__annotations__)
            raise refused(f"{name}: there is no fact {fact!r} to declare. There are: {known}.")
    urls = _names(name, given, "urls")
    fixed = tuple(url for url in urls if "://" in url)
    code = _one(name, given, "currency")
    constant = code is not None and code not in signature.names and bool(_CURRENCY.fullmatch(code))
    read = FactArguments(
        urls=tuple(url for url in urls if url not in fixed),
        fixed=tuple(_fixed(name, url) for url in fixed),
        paths=_names(name, given, "paths"),
        root=_root(name, given),
        argv=_one(name, given, "argv"),
        amount_minor=_one(name, given, "amount_minor"),
        currency=None if constant else code,
        code=code if constant else None,
    )
    for fact in _KINDS:
        _check_named(name, fact, getattr(read, fact), signature)
    return read


def _names(name: str, given: FactSources, fact: str) -> tuple[str, ...]:
    value: object = given.get(fact, ())
    items = (value,) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise refused(f"{name}: facts[{fact!r}] must be a parameter's name or a list of names.")
    return tuple(map(str, cast(Sequence[object], items)))


def _one(name: str, given: FactSources, fact: str) -> str | None:
    value: object = given.get(fact)
    if value is not None and not isinstance(value, str):
        raise refused(f"{name}: facts[{fact!r}] must be the name of one parameter.")
    return value


def _fixed(name: str, url: str) -> UrlFact:
    try:
        return url_fact(url, op="capability.declare")
    except CapabilityError as error:
        message = f"{name}: the fixed address among its facts cannot be used. {error}"
        raise refused(message) from error


def _root(name: str, given: FactSources) -> GuardedFolder | None:
    root = given.get("root")
    if (root is None) != ("paths" not in given):
        raise refused(
            f"{name}: facts need `paths` and `root` together. Paths are judged by where they lead, "
            "and that depends on the folder below which the function takes them."
        )
    if root is not None and not Path(root).is_absolute():
        raise refused(
            f"{name}: the root {str(root)!r} among its facts is relative. Write an absolute path, "
            "for example str(Path(__file__).parent / 'data')."
        )
    return None if root is None else GuardedFolder(Path(root))


def _check_named(name: str, fact: str, named: Any, signature: Signature) -> None:
    """Refuse a name that is no parameter, or one of a type that says nothing of this fact."""
    for parameter in (named,) if isinstance(named, str) else named or ():
        if parameter not in signature.names:
            known = ", ".join(sorted(signature.names)) or "none"
            raise refused(
                f"{name}: facts[{fact!r}] names {parameter!r}, which is no parameter that a model "
                f"fills in. Name one of: {known}."
            )
        kind = signature.schema.get("properties", {}).get(parameter, {}).get("type")
        if kind is not None and kind not in _KINDS[fact]:
            wanted = " or ".join(sorted(_KINDS[fact] - {"null"}))
            raise refused(
                f"{name}: facts[{fact!r}] names {parameter!r}, which is of type {kind}; "
                f"it is read from a value of type {wanted}."
            )


def _value(values: dict[str, Any], param: str, op: str) -> Any:
    """What the function gets, as JSON holds it: addresses and paths may be types of their own."""
    try:
        return to_jsonable_python(values[param])
    except (KeyError, PydanticSerializationError, ValueError) as error:
        raise _unreadable(param, "cannot be read", op) from error


def _each(values: dict[str, Any], params: Sequence[str], op: str) -> list[tuple[str, str]]:
    """Every text of these arguments with the argument's name; None is none."""
    found: list[tuple[str, str]] = []
    for param in params:
        value = _value(values, param, op)
        items = cast("list[object]", value if isinstance(value, list) else [value])
        texts = [item for item in items if isinstance(item, str)]
        if value is None:
            continue
        if len(texts) != len(items):
            raise _unreadable(param, "is no text and no list of texts", op)
        if len(texts) > MAX_VALUES:
            raise _unreadable(param, f"lists more than {MAX_VALUES}", op)
        found += [(param, text) for text in texts]
    return found


def _url(param: str, url: str, op: str) -> UrlFact:
    try:
        return url_fact(url, param=param, op=op)
    except CapabilityError as error:
        # The same refusal, with the argument that it is about.
        raise CapabilityError(
            f"{param}: {error}", op=op, code=error.code, advice=f"{param}: {error.advice}"
        ) from error


def _words(values: dict[str, Any], param: str, op: str) -> list[str]:
    return words_of(_value(values, param, op), param=param, op=op)


def _amount(values: dict[str, Any], param: str, op: str) -> int:
    amount = _value(values, param, op)
    if not isinstance(amount, int) or isinstance(amount, bool) or abs(amount) > _MAX_INTEGER:
        raise _unreadable(param, "is no whole number of the currency's smallest unit", op)
    return amount


def _code(values: dict[str, Any], param: str, op: str) -> str:
    code = _value(values, param, op)
    if not isinstance(code, str) or not _CURRENCY.fullmatch(code):
        raise _unreadable(param, "is no currency of three capital letters, such as EUR", op)
    return code


def _unreadable(param: str, why: str, op: str) -> CapabilityError:
    return CapabilityError(
        f"The argument {param} {why}, and a policy has to judge it.",
        op=op,
        code="fact_unreadable",
        advice=f"Mend {param}: it {why}.",
    )
