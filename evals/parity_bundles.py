"""The shipped bundle and its variants, each of which lets another part of it decide."""

from collections.abc import Mapping

from checkrein.evals.both_engines import Bundle, make_bundle, shipped_bundle

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
    """Bundles by name; the shipped one comes first."""
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
    }


def _made(origin: str, kept: Mapping[str, str], more: Mapping[str, str], data: str) -> Bundle:
    modules = {**kept, **{f"checkrein/rules/{name}": text for name, text in more.items()}}
    return make_bundle(origin=origin, modules=modules, tests={}, data={"data.json": data})
