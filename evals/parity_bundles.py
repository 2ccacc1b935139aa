"""The shipped bundle and its variants, each of which lets another part of it decide."""

import re
from collections.abc import Mapping

from checkrein.contracts.codec import canonical
from checkrein.evals.both_engines import Bundle, library_rules, make_bundle, shipped_bundle
from checkrein.evals.parity_plausible import LIBRARY_DATA

_MEMBERS = """package checkrein.rules.members

allow contains member if some member in input.action.args.allow

ask contains member if some member in input.action.args.ask

deny contains member if some member in input.action.args.deny

limit contains member if some member in input.action.args.limit
"""
_ALL = """package checkrein.rules.all

allow contains {"reason_code": "everything_allowed"} if true
"""
_FACTS = """package checkrein.rules.facts

import future.keywords.not

allow contains {"reason_code": "small_amount"} if {
	input.action.facts.amount_minor >= 0
	input.action.facts.amount_minor <= 10000
}

allow contains {"reason_code": "known_hosts"} if {
	count(input.action.facts.urls) > 0
	every url in input.action.facts.urls {
		url.host in data.hosts
		url.has_userinfo == false
	}
}

ask contains {"reason_code": "production", "roles": ["operator"]} if {
	input.action.environment == "production"
}

ask contains {"reason_code": "spread", "scopes": ["once", "task", "class"]} if {
	input.action.environment == "test"
}

limit contains {"max_bytes": 1024} if input.provenance.untrusted == true

limit contains {"hosts": ["good.com", "evil.com"]} if count(input.action.facts.urls) > 1

deny contains {"reason_code": "private_network"} if {
	some url in input.action.facts.urls
	net.cidr_contains("10.0.0.0/8", url.host)
}

deny contains {"reason_code": "no_steps"} if not input.budget.steps > 0

deny contains {"reason_code": "secret"} if {
	walk(input.action.args, [_, value])
	value == "s3cret"
}

deny contains {"reason_code": "revoked_user"} if {
	some word in input.revocations
	startswith(word, "user:")
	substring(word, 5, -1) == input.actor.user
}
"""


def variants() -> dict[str, Bundle]:
    """Bundles by name; the shipped one comes first.

    The library comes with the data that it ships with, and with data by which all of it decides.
    """
    shipped = shipped_bundle()
    rest = {path: text for path, text in shipped.modules.items() if "/rules/" not in path}
    known = _made("known", shipped.modules, {"all.rego": _ALL}, shipped.data)
    return {
        "shipped": shipped,
        "shipped, everything known": known,
        "entrypoint alone": _made("alone", rest, {}, "{}"),
        "members from arguments": _made("members", rest, {"members.rego": _MEMBERS}, "{}"),
        "shipped and members": _made(
            "both", shipped.modules, {"members.rego": _MEMBERS}, shipped.data
        ),
        "facts": _made("facts", rest, {"facts.rego": _FACTS}, '{"hosts": ["good.com"]}'),
        "library": _library(None),
        "library, with data": _library(canonical(LIBRARY_DATA).decode()),
    }


def library_words() -> frozenset[str]:
    """What the library's rules say, each at least once: reason codes, and names of limits."""
    texts = _texts(".rego").values()
    codes = {code for text in texts for code in re.findall(r"reason_code: ([a-z0-9_]+)", text)}
    limits = {name for text in texts for name in re.findall(r'limit contains {"(\w+)"', text)}
    return frozenset(codes | limits)


def _library(data: str | None) -> Bundle:
    """All rules of the library, with data in place of their own where some are given."""
    own = _texts(".json") if data is None else {"data.json": data}
    return make_bundle(origin="library", modules=_texts(".rego"), tests={}, data=own)


def _texts(ending: str) -> dict[str, str]:
    return {
        path: text
        for rule in library_rules()
        for path, text in rule.files.items()
        if path.endswith(ending) and not path.endswith("_test.rego")
    }


def _made(origin: str, kept: Mapping[str, str], more: Mapping[str, str], data: str) -> Bundle:
    modules = {**kept, **{f"checkrein/rules/{name}": text for name, text in more.items()}}
    return make_bundle(origin=origin, modules=modules, tests={}, data={"data.json": data})
