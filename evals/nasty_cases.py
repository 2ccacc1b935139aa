"""The traps of facts and fields: paths, hosts, numbers, missing fields, secrets."""

from collections.abc import Sequence
from typing import Any

from checkrein.evals.nasty_case import NastyCase, StoppedBy, allowing, denying

_DERIVED: StoppedBy = "canonicalisation"
_FACTS = "action.facts"
_ARGS = "action.args"
_SHIPPED_READ = {
    "task.capabilities": ["workspace.read"],
    "action.capability": "workspace.read",
    "action.type": "workspace.read@1",
    "action.side_effect_class": "READ",
}
_IN_WS = allowing(
    "count(input.action.facts.paths) > 0",
    'every path in input.action.facts.paths { path.inside == true; path.segments[0] == "ws" }',
)
_MONEY = allowing(
    "input.action.facts.amount_minor >= 0",
    "input.action.facts.amount_minor <= 10000",
)
_HOSTS = allowing(
    "count(input.action.facts.urls) > 0",
    "every url in input.action.facts.urls {\n"
    '\t\turl.host == "good.com"\n\t\turl.has_userinfo == false\n\t\turl.address == "name"\n\t}',
)
_PRIVATE = denying(
    "some url in input.action.facts.urls", 'net.cidr_contains("10.0.0.0/8", url.host)'
)


def path(*segments: str, inside: bool = True, symlink: bool = False) -> dict[str, Any]:
    """A path as the harness resolves it."""
    return {
        "paths": [
            {
                "param": "path",
                "segments": list(segments),
                "inside": inside,
                "exists": True,
                "symlink": symlink,
            }
        ]
    }


def url(host: str, *, userinfo: bool = False, address: str = "name") -> dict[str, Any]:
    """A URL as the harness parses it."""
    return {
        "urls": [
            {
                "scheme": "https",
                "host": host,
                "port": 443,
                "has_userinfo": userinfo,
                "address": address,
            }
        ]
    }


def _paths() -> Sequence[NastyCase]:
    one = _DERIVED
    return [
        NastyCase(1, "dots lead out", one, "path_outside_workspace",
                  change={**_SHIPPED_READ, _FACTS: path("ws", "..", "etc", inside=False)}),
        NastyCase(1, "link after its target", one, "path_through_symlink",
                  change={**_SHIPPED_READ, _FACTS: path("etc", symlink=True)}),
        NastyCase(1, "prefix of another name", one, "no_rule_allows",
                  rules=_IN_WS, change={_FACTS: path("wsx", "a")}),
        NastyCase(1, "dots that are one sign", one, "fine", decision="ALLOW",
                  rules=_IN_WS, change={_FACTS: path("ws", "\u2025", "etc")}),
        NastyCase(1, "NUL in a path", one, "policy_input_invalid",
                  rules=_IN_WS, change={_ARGS: {"path": "/etc/passwd\0.txt"}, _FACTS: path("ws")}),
        NastyCase(1, "no path at all", "rule", "no_rule_allows", change=_SHIPPED_READ),
    ]  # fmt: skip


def _hosts() -> Sequence[NastyCase]:
    one = _DERIVED
    return [
        NastyCase(2, "the host itself", one, "fine", decision="ALLOW",
                  rules=_HOSTS, change={_FACTS: url("good.com")}),
        NastyCase(2, "capitals and a trailing dot", one, "no_rule_allows", rules=_HOSTS,
                  change={_FACTS: url("api.evil.com"), _ARGS: {"url": "https://API.EVIL.COM."}}),
        NastyCase(2, "name before an at sign", one, "no_rule_allows",
                  rules=_HOSTS, change={_FACTS: url("good.com", userinfo=True)}),
        NastyCase(2, "letters that look alike", one, "no_rule_allows",
                  rules=_HOSTS, change={_FACTS: url("xn--god-jua.com")}),
        NastyCase(2, "IPv4 inside IPv6", one, "caught", rules=_PRIVATE,
                  change={_FACTS: url("10.1.2.3", address="private"),
                          _ARGS: {"url": "https://[::ffff:10.1.2.3]/"}}),
        NastyCase(2, "address as one number", one, "no_rule_allows", rules=_HOSTS,
                  change={_FACTS: url("127.0.0.1", address="loopback"),
                          _ARGS: {"url": "https://2130706433/"}}),
    ]  # fmt: skip


def _numbers() -> Sequence[NastyCase]:
    one = _DERIVED
    cases = [
        NastyCase(3, f"argument {name}", one, "policy_input_invalid",
                  rules=_MONEY, change={_ARGS: {"n": value}, _FACTS: {"amount_minor": 1}})
        for name, value in (
            ("2**53", 2**53), ("2**53 + 1", 2**53 + 1), ("2**64", 2**64), ("-2**64", -(2**64)),
            ("NaN", float("nan")), ("infinity", float("inf")), ("1e400", 1e308 * 10),
        )
    ]  # fmt: skip
    cases += [
        NastyCase(3, f"amount {value}", "canonicalisation", "policy_input_invalid",
                  rules=_MONEY, change={_FACTS: {"amount_minor": value}})
        for value in (2**53 + 1, 2**64)
    ]  # fmt: skip
    cases += [
        NastyCase(3, f"amount {value}", "rule", "no_rule_allows",
                  rules=_MONEY, change={_FACTS: {"amount_minor": value}})
        for value in (-1, 10_001, None)
    ]  # fmt: skip
    cases += [
        NastyCase(3, f"amount {value!r} for a number", "schema", "",
                  rules=_MONEY, change={_FACTS: {"amount_minor": value}})
        for value in ("much", [1], {"n": 1}, 0.5)
    ]  # fmt: skip
    cases.append(
        NastyCase(3, "a tenth and two tenths", one, "fine", decision="ALLOW",
                  rules=denying("sum([10, 20]) > input.action.facts.amount_minor"),
                  change={_FACTS: {"amount_minor": 30}})
    )  # fmt: skip
    return cases


def _missing() -> Sequence[NastyCase]:
    path_array = {"type": "object", "properties": {"path": {"type": "array"}}}
    return [
        NastyCase(7, "not of a missing field", "rule", "caught",
                  rules=denying('not startswith(input.action.args.path, "/ws/")')),
        NastyCase(7, "the same without the import", "lint", "not_without_import",
                  rules=denying('not startswith(input.action.args.path, "/ws/")', head="")),
        NastyCase(7, "missing budget", "rule", "caught",
                  rules=denying("not input.budget.tokens >= 1")),
        NastyCase(7, "missing tenant", "schema", "", rules=denying('input.tenant != "local"'),
                  change={"tenant": None}),
        NastyCase(7, "a list that the data lack", "rule", "no_rule_allows",
                  rules=allowing("input.actor.user in data.friends")),
        NastyCase(7, "text for a list", "schema", "", schema=path_array,
                  rules=denying("some p in input.action.args.path", 'p == "/etc"'),
                  change={_ARGS: {"path": "/"}}),
        NastyCase(7, "text for a list of facts", "schema", "",
                  rules=denying("some p in input.action.facts.paths", "p.inside == false"),
                  change={_FACTS: {"paths": "/"}}),
        NastyCase(8, "every of nothing", "rule", "no_rule_allows",
                  rules=_IN_WS, change={_FACTS: {"paths": []}}),
        NastyCase(8, "some role is another", "rule", "caught",
                  rules=denying('"banned" in input.actor.roles'),
                  change={"actor.roles": ["reader", "banned"]}),
    ]  # fmt: skip


def _secrets() -> Sequence[NastyCase]:
    walking = denying("walk(input.action.args, [_, value])", 'value == "s3cret"')
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    return [
        NastyCase(10, "walk into a pattern", "lint", "walk", change={_ARGS: {"a": ["s3cret"]}},
                  rules=denying("[_, value] := walk(input.action.args)", 'value == "s3cret"')),
        NastyCase(10, "walk by two arguments", "rule", "caught",
                  rules=walking, change={_ARGS: {"a": [{"b": "s3cret"}]}}),
        NastyCase(10, "a secret as a name", "rule", "caught", change={_ARGS: {"a": {"s3cret": 1}}},
                  rules=denying("walk(input.action.args, [place, _])",
                                'some step in place', 'step == "s3cret"')),
        NastyCase(10, "a lone surrogate", "canonicalisation", "policy_input_invalid",
                  rules=walking, change={_ARGS: {"a": "\ud800"}}),
        NastyCase(10, "a lone surrogate as a name", "canonicalisation", "policy_input_invalid",
                  rules=walking, change={_ARGS: {"\udfff": 1}}),
        NastyCase(10, "nested ten thousand deep", "canonicalisation", "policy_input_invalid",
                  rules=walking, change={_ARGS: {"a": deep}}),
        NastyCase(10, "five megabytes", "rule", "fine", decision="ALLOW",
                  rules=walking, change={_ARGS: {"a": "é" * 2_500_000}}),
        NastyCase(10, "digits of another script", "rule", "no_rule_allows",
                  rules=allowing("regex.match(`^[0-9]+$`, input.action.args.id)"),
                  change={_ARGS: {"id": "\u0661\u0662"}}),
        NastyCase(10, "a class that means other digits", "lint", "pattern",
                  rules=allowing(r"regex.match(`^\d+$`, input.action.args.id)"),
                  change={_ARGS: {"id": "\u0661\u0662"}}),
    ]  # fmt: skip


def fields() -> list[NastyCase]:
    """All of them, made anew; the deep one is taken apart by whoever is done with it."""
    return [*_paths(), *_hosts(), *_numbers(), *_missing(), *_secrets()]
