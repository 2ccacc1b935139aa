"""Inputs as a well-meant action makes them, with a thing or two amiss: these get past most rules.

Among inputs of chance alone almost each is denied for several reasons, so that what allows, asks
and limits would hardly be compared.
"""

import random
from typing import Any

LIBRARY_DATA: dict[str, Any] = {
    "checkrein": {
        "known": {
            "capabilities": [
                "workspace.read",
                "workspace.write_file",
                "workspace.run_command",
                "workspace.publish",
                "payments.charge",
                "shell.run",
                "web.fetch",
                "db.rows",
                "plan.submit",
                "result.submit",
            ]
        },
        "budgets": {"tool_calls_kept": 3, "most_denials": 10},
        "commands": {
            "capabilities": ["shell.run", "workspace.run_command"],
            "exact": [["git", "status"], ["ls"]],
            "prefixes": [["git", "log"], ["make"]],
        },
        "duties": {"roles": ["approver"]},
        "money": {
            "capabilities": ["payments.charge"],
            "currencies": {"EUR": {"allow_up_to": 10_000, "ask_up_to": 100_000}},
            "roles": ["approver", "cashier"],
            "quorum": 2,
            "limited": ["payments.charge"],
        },
        "network": {
            "capabilities": ["web.fetch"],
            "hosts": ["good.com", "10.1.2.3"],
            "ports": [443],
            "limited": ["web.fetch"],
        },
        "production": {
            "names": ["production"],
            "roles": ["approver"],
            "irreversible_roles": ["operator"],
        },
        "sql": {
            "capabilities": ["db.rows"],
            "read_tables": ["orders", "users"],
            "write_tables": ["orders"],
            "max_rows": 100,
            "limited": ["db.rows"],
        },
        "stages": {
            "capabilities": {
                "plan": ["workspace.read", "plan.submit"],
                "execute": [
                    "plan.submit",
                    "result.submit",
                    "workspace.read",
                    "workspace.write_file",
                    "workspace.run_command",
                    "workspace.publish",
                    "payments.charge",
                    "shell.run",
                    "web.fetch",
                    "db.rows",
                ],
            }
        },
    }
}
"""Data for all rules of the library: with those that it ships with, most of it allows nothing."""

_URL = {"scheme": "https", "host": "good.com", "port": 443, "address": "name", "method": "GET"}
_PATH = {
    "param": "path",
    "segments": ["src", "a.py"],
    "inside": True,
    "exists": True,
    "symlink": False,
}

# What each capability does, and what the harness finds in its arguments.
_WORK: tuple[tuple[str, str, tuple[dict[str, Any], ...]], ...] = (
    ("workspace.read", "READ", ({"paths": [_PATH]},)),
    ("workspace.write_file", "REVERSIBLE", ({"paths": [_PATH]},)),
    ("plan.submit", "READ", ({"bytes": 9},)),
    ("result.submit", "READ", ({"bytes": 9},)),
    ("workspace.publish", "REVERSIBLE", ({"bytes": 9},)),
    ("workspace.run_command", "IRREVERSIBLE", ({"paths": [_PATH], "argv": ["ls"]},)),
    ("shell.run", "REVERSIBLE", ({"argv": ["ls"]}, {"argv": ["make", "x"]}, {"argv": ["rm"]})),
    ("web.fetch", "READ", ({"urls": [_URL]},)),
    ("db.rows", "READ", ({"tables": ["users"], "rows": 1},)),
    ("db.rows", "REVERSIBLE", ({"tables": ["orders"], "rows": 100},)),
    (
        "payments.charge",
        "IRREVERSIBLE",
        ({"amount_minor": 10_000, "currency": "EUR"}, {"amount_minor": 99_999, "currency": "EUR"}),
    ),
)

# What makes a rule ask, by its place in the document.
_ASKED: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("task.risk", ("high",)),
    ("provenance.untrusted", (True,)),
    ("budget", ({}, {"tool_calls": 2}, {"tool_calls": 3})),
    ("action.environment", ("production", "PRODUCTION", "test", "")),
)

# What may be amiss besides.
_AMISS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("task.stage", ("plan", "elsewhere")),
    ("task.plan_mode", (True,)),
    ("task.capabilities", ([],)),
    ("attempt.prior_denials", (9, 10, 100)),
    ("attempt.purpose", ("work", "commit")),
    ("actor.roles", ([], ["banned"])),
    ("provenance.private", (True,)),
    ("provenance", ({"lowest_trust": "tool", "untrusted": True, "private": False},)),
    ("action.capability", ("workspace.list", "other")),
    ("action.egress", (True,)),
    ("action.side_effect_class", ("READ", "REVERSIBLE", "IRREVERSIBLE")),
    ("action.facts.secret_hits", (1,)),
    ("action.facts.amount_minor", (None, -1, 0, 10_001, 100_001)),
    ("action.facts.currency", (None, "USD", "EUR")),
    ("action.facts.argv", ([], [""], ["/bin/BASH.exe", "-c"], ["git", "log", "-1"], ["ls", "x"])),
    ("action.facts.rows", (None, 0, 101)),
    ("action.facts.tables", ([], ["Users"], ["orders", "users"])),
    ("action.facts.urls", ([], [_URL, _URL | {"host": "evil.com"}])),
    ("action.facts.urls", ([_URL | {"host": "10.1.2.3", "address": "private"}],)),
    ("action.facts.urls", ([_URL | {"scheme": "http", "port": 80, "has_userinfo": True}],)),
    ("action.facts.paths", ([], [_PATH | {"inside": False}], [_PATH | {"symlink": True}])),
    ("action.facts.paths", ([_PATH | {"segments": ["tests", "A.py"]}],)),
    ("approvals", ([{"approvers": ["ada"]}], [{"approvers": []}], [{"approvers": ["bob"]}])),
)


def plausible(chance: random.Random, number: int) -> dict[str, Any]:
    """A decision input as JSON, without arguments; `number` makes its task's name."""
    capability, effect, facts = chance.choice(_WORK)
    made: dict[str, Any] = {
        "phase": chance.choice(("propose", "dispatch")),
        "tenant": "local",
        "task": {
            "task_id": f"task-{number}",
            "risk": chance.choice(("low", "medium")),
            "contract_version": "sha256:00",
            "capabilities": [capability],
            "requested_by": "ada",
            "plan_mode": capability == "plan.submit",
            "commit_authority": chance.choice(("ada", "bob", None)),
        },
        "attempt": {
            "attempt_id": "a",
            "number": 1,
            "turn": 1,
            "purpose": "commit" if capability == "workspace.publish" else "work",
        },
        "actor": {"user": "ada", "agent": "m", "runtime": "r", "roles": ["operator"]},
        "action": {
            "action_id": "action",
            "capability": capability,
            "type": f"{capability}@1",
            "args": {},
            "resource": "r",
            "resource_version": "v1",
            "side_effect_class": effect,
            "reversible": effect != "IRREVERSIBLE",
            "egress": capability == "web.fetch" and chance.random() < 0.5,
            "facts": dict(chance.choice(facts)),
        },
        "provenance": {"lowest_trust": "workspace", "untrusted": False},
        "budget": {"tool_calls": 9},
        "now_ms": 1_764_500_000_000,
    }
    amiss = chance.sample(_ASKED, chance.choice((0, 0, 1, 2)))
    amiss += chance.sample(_AMISS, chance.choice((0, 0, 1, 1, 2)))
    for place, values in amiss:
        _set(made, place.split("."), chance.choice(values))
    made["approvals"] = [
        {"approval_id": "p", "operation_hash": "sha256:11"} | one
        for one in made.get("approvals", [])
    ]
    return made


def _set(document: dict[str, Any], place: list[str], value: Any) -> None:
    *above, last = place
    for name in above:
        document = document[name]
    document[last] = value
