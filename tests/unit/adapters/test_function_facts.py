"""The facts of plain functions: named once, checked at once, and never silently missing."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, HttpUrl

from checkrein.adapters.function_capability import capability
from checkrein.adapters.function_target import FunctionCapability
from checkrein.contracts.action import AddressClass, Facts
from checkrein.errors import CapabilityError, InputError

Amount = Annotated[int, Field(ge=0)]


async def everything(
    url: str,
    command: list[str],
    amount: Amount,
    currency: str = "EUR",
    mirrors: list[str] | None = None,
    home: HttpUrl | None = None,
    whatever: Any = None,
    *,
    idempotency_key: str,
) -> None:
    """Take everything."""


ALL: dict[str, Any] = {
    "urls": ["url", "mirrors", "home"],
    "argv": "command",
    "amount_minor": "amount",
    "currency": "currency",
}
ARGS: dict[str, Any] = {"url": "https://API.Shop.example.", "command": ["ls", "-l"], "amount": 1250}


def declared(facts: Any) -> FunctionCapability[..., None]:
    """The function with these facts."""
    return capability("a.b", facts=facts)(everything)


async def facts_of(facts: Any, args: dict[str, Any]) -> Facts:
    """What policies would be told of a call."""
    return (await declared(facts).describe(args)).facts


async def test_what_is_named_is_parsed() -> None:
    """Protects the library's rules: a function's facts look like those of any other capability."""
    facts = await facts_of(ALL, ARGS)
    (url,) = facts.urls
    assert (url.param, url.scheme, url.host, url.port) == ("url", "https", "api.shop.example", 443)
    assert (facts.argv, facts.amount_minor, facts.currency) == (["ls", "-l"], 1250, "EUR")
    assert facts.bytes > 0


async def test_nothing_is_named() -> None:
    """Protects existing declarations: they are told no more than the size of their arguments."""
    facts = await facts_of(None, ARGS)
    assert facts == Facts(bytes=facts.bytes)


async def test_every_address_of_a_call_is_told() -> None:
    """Protects against hiding one: lists, types of pydantic's and an address inside an address."""
    more = {"mirrors": ["http://[::ffff:10.1.2.3]:8080/", "https://a@b.example"]}
    facts = await facts_of(ALL, ARGS | more | {"home": "https://home.example/x"})
    assert [(url.param, url.host) for url in facts.urls] == [
        ("url", "api.shop.example"),
        ("mirrors", "10.1.2.3"),
        ("mirrors", "b.example"),
        ("home", "home.example"),
    ]
    assert facts.urls[1].address is AddressClass.PRIVATE
    assert facts.urls[2].has_userinfo


async def test_a_default_is_judged_like_an_argument() -> None:
    """Protects against leaving an argument out: the function gets its default all the same."""

    @capability("a.get", side_effect="READ", facts={"urls": "url"})
    async def get(url: str = "http://169.254.169.254/latest") -> None:
        """Get."""

    (url,) = (await get.describe({})).facts.urls
    assert (url.host, url.address) == ("169.254.169.254", AddressClass.LINK_LOCAL)


async def test_what_never_changes_is_declared_once() -> None:
    """Protects functions that always call one service in one currency: policies see both."""
    fixed = {"urls": "https://pay.example/v1", "amount_minor": "amount", "currency": "USD"}
    facts = await facts_of(fixed, ARGS)
    assert [(url.param, url.host) for url in facts.urls] == [("", "pay.example")]
    assert (facts.amount_minor, facts.currency) == (1250, "USD")


async def test_paths_are_judged_by_where_they_lead(tmp_path: Path) -> None:
    """Protects what lies outside: links are followed before any policy looks."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "data" / "out").symlink_to(tmp_path)

    @capability("files.drop", facts={"paths": "path", "root": tmp_path / "data"})
    async def drop(path: list[str]) -> None:
        """Drop files."""

    facts = (await drop.describe({"path": ["./a.txt", "../b", "out/c"]})).facts
    assert [(p.param, p.segments, p.inside) for p in facts.paths] == [
        ("path", ["a.txt"], True),
        ("path", ["..", "b"], False),
        ("path", ["out", "c"], False),
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"url": "shop.example/no-scheme"}, "url_refused"),
        ({"url": "https://good.example\\@evil.example"}, "url_refused"),
        ({"mirrors": ["https://a.example", ""]}, "url_refused"),
        ({"mirrors": ["https://a.example"] * 257}, "fact_unreadable"),
        ({"command": []}, "argv_refused"),
        ({"command": [""]}, "argv_refused"),
        ({"command": ["ls", "a\0b"]}, "argv_refused"),
        ({"command": ["ls"] * 257}, "argv_refused"),
        ({"currency": "Euro"}, "fact_unreadable"),
        ({"amount": "much"}, "invalid_arguments"),
    ],
)
async def test_what_cannot_be_read_is_refused(change: dict[str, Any], code: str) -> None:
    """Protects every rule on facts: a fact is never missing because it was hard to read."""
    with pytest.raises(CapabilityError) as caught:
        await facts_of(ALL, ARGS | change)
    assert caught.value.code == code
    assert next(iter(change)) in caught.value.advice


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("urls", 7),
        ("urls", {"a": "https://a.example"}),
        ("argv", "rm -rf /"),
        ("amount_minor", 1.5),
        ("amount_minor", True),
        ("amount_minor", None),
        ("currency", None),
    ],
)
async def test_a_value_of_another_kind_is_refused(fact: str, value: object) -> None:
    """Protects where the function's own type says nothing: text is never split into words."""
    with pytest.raises(CapabilityError) as caught:
        await facts_of({fact: "whatever"}, ARGS | {"whatever": value})
    assert "whatever" in caught.value.advice


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"urls": "uri"}, "facts['urls'] names 'uri', which is no parameter"),
        ({"urls": ["url", "x"]}, "Name one of: amount, command, currency, home"),
        ({"argv": "idempotency_key"}, "is no parameter that a model fills in"),
        ({"currency": "eur"}, "names 'eur', which is no parameter"),
        ({"hosts": "url"}, "there is no fact 'hosts' to declare. There are: urls, paths"),
        ({"argv": "url"}, "is of type string; it is read from a value of type array"),
        ({"amount_minor": "currency"}, "is read from a value of type integer"),
        ({"urls": "amount"}, "is read from a value of type array or string"),
        ({"argv": ["command"]}, "must be the name of one parameter"),
        ({"urls": 7}, "must be a parameter's name or a list of names"),
        ({"urls": "https://"}, "the fixed address among its facts cannot be used"),
        ({"paths": "url"}, "facts need `paths` and `root` together"),
        ({"root": "/srv"}, "facts need `paths` and `root` together"),
        ({"paths": "url", "root": "data"}, "is relative. Write an absolute path"),
        ("url", "facts must be a dict"),
    ],
)
def test_a_wrong_declaration_is_refused_at_once(facts: Any, message: str) -> None:
    """Protects authors: a name that is misspelt is told where it is written, not in production."""
    with pytest.raises(InputError) as caught:
        declared(facts)
    assert message in str(caught.value)
    assert caught.value.code == "capability_unusable"
