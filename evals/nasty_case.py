"""One case that policy engines are known to trip over, and the document that it is asked about."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from checkrein.contracts.codec import json_object
from checkrein.contracts.decision import DecisionInput

StoppedBy = Literal["canonicalisation", "schema", "lint", "engine", "output check", "rule"]
"""Which part gives the right answer.

canonicalisation: policies match facts that the harness derived, or the input cannot be written;
schema: the value has no place in the input, or none in the capability's arguments;
lint: a bundle with such a rule is not loaded;
engine: the engine fails, and a failure denies;
output check: what was answered is no decision;
rule: a rule in the portable subset says it right, in both engines alike.
"""

BASE: Mapping[str, Any] = MappingProxyType(
    json_object(
        """
{"phase": "propose", "tenant": "local",
 "task": {"task_id": "t", "risk": "low", "contract_version": "c", "capabilities": ["nasty.act"],
          "requested_by": "ada"},
 "attempt": {"attempt_id": "a", "number": 1, "turn": 1},
 "actor": {"user": "ada", "agent": "m", "runtime": "r"},
 "action": {"action_id": "a", "capability": "nasty.act", "type": "nasty.act@1", "args": {},
            "resource": "r", "resource_version": "v", "side_effect_class": "IRREVERSIBLE",
            "reversible": false, "facts": {}},
 "provenance": {"lowest_trust": "user", "untrusted": false},
 "budget": {"steps": 3}, "now_ms": 0}
""",
        op="nasty.base",
    )
)


@dataclass(frozen=True)
class NastyCase:
    """One case.

    Attributes:
        group: its number in the list of known traps, 1 to 12.
        rules: the text of a package of rules; None asks the shipped bundle.
        entrypoint: Rego in place of the shipped entrypoint; such a bundle loads nowhere.
        data: JSON text of the bundle's data.
        reason: the reason code of the right answer, in both engines.
        schema: the capability's schema of its arguments, where that is what refuses them.
        change: what differs from BASE, by the field's path.
    """

    group: int
    name: str
    stopped_by: StoppedBy
    reason: str
    rules: str | None = None
    entrypoint: str | None = None
    data: str = "{}"
    decision: str = "DENY"
    schema: Mapping[str, Any] | None = None
    change: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def raw(self) -> dict[str, Any]:
        """The document before it is validated."""
        document = deepcopy(dict(BASE))
        for path, value in self.change.items():
            *folders, name = path.split(".")
            place = document
            for folder in folders:
                place = place[folder]
            place[name] = value
        return document

    def document(self) -> DecisionInput:
        """The document.

        Raises:
            pydantic.ValidationError: it has no place in the schema.
        """
        return DecisionInput.model_validate(self.raw())


def rules(body: str, *, head: str = "import future.keywords.not\n") -> str:
    """A package of rules that allows unless `body` says otherwise."""
    return f"package checkrein.rules.nasty\n\n{head}\n{body}\n"


ALLOWED = 'allow contains {"reason_code": "fine"} if input.phase == "propose"\n'


def denying(*conditions: str, head: str = "import future.keywords.not\n") -> str:
    """A package that allows everything but what meets these conditions."""
    body = "\n\t".join(conditions)
    return rules(
        f'{ALLOWED}\ndeny contains {{"reason_code": "caught"}} if {{\n\t{body}\n}}', head=head
    )


def allowing(*conditions: str) -> str:
    """A package that allows nothing but what meets these conditions."""
    body = "\n\t".join(conditions)
    return rules(f'allow contains {{"reason_code": "fine"}} if {{\n\t{body}\n}}')
