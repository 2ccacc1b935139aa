"""The walk from an effect back to what it rests on: receipt, action, approval, policy, input."""

from collections.abc import Iterator

from checkrein.contracts.codec import Frozen
from checkrein.contracts.effect import Effect
from checkrein.contracts.evidence import ActionRecord, ApprovalRecord, EvidencePackage, Lineage
from checkrein.errors import InputError


class Step(Frozen):
    """One thing that an effect rests on: what it is, its reference, and words about it."""

    what: str
    ref: str
    told: list[str] = []


class Walk(Frozen):
    """One effect with everything behind it, nearest first."""

    effect_id: str
    status: str
    resource: str
    steps: list[Step]


def walks(package: EvidencePackage, effect_id: str | None = None) -> list[Walk]:
    """The walk of one effect, or of each; those of the final commit among them.

    Raises:
        InputError: the package holds no such effect.
    """
    found = [
        _walk(effect, line, package.actions, package.approvals)
        for effect, line in _pairs(package.effects, package.lineage)
    ]
    made = package.final_commit
    if made is not None:
        found += [
            _walk(effect, line, made.actions, made.approvals)
            for effect, line in _pairs(made.effects, made.lineage)
        ]
    if effect_id is None:
        return found
    one = [walk for walk in found if walk.effect_id == effect_id]
    if not one:
        raise InputError(
            f"The evidence of attempt {package.attempt.attempt_id} holds no effect {effect_id}; "
            "an attempt's effect can be walked back once the attempt has ended.",
            op="evidence.lineage",
            code="unknown_effect",
        )
    return one


def _pairs(effects: list[Effect], lines: list[Lineage]) -> Iterator[tuple[Effect, Lineage]]:
    by_id = {line.effect_id: line for line in lines}
    return ((effect, by_id[effect.effect_id]) for effect in effects)


def _walk(
    effect: Effect, line: Lineage, actions: list[ActionRecord], approvals: list[ApprovalRecord]
) -> Walk:
    steps = [
        Step(what="receipt", ref=effect.to_version or "-", told=_receipt(effect)),
        *_action(line, actions),
        *(step for record in approvals for step in _approval(record, line)),
        Step(what="policy", ref=line.policy_version, told=[f"asked {line.decision_input}"]),
        Step(what="context", ref=line.context, told=[f"turn {line.turn}"]),
        *(Step(what="input", ref=given) for given in line.inputs),
    ]
    return Walk(
        effect_id=effect.effect_id,
        status=str(effect.status),
        resource=effect.resource,
        steps=steps,
    )


def _receipt(effect: Effect) -> list[str]:
    words = {True: "read back: it shows", False: "read back: it does NOT show", None: ""}
    told = [f"from {effect.from_version or '-'}", words[effect.verified]]
    return [line for line in told if line]


def _action(line: Lineage, actions: list[ActionRecord]) -> Iterator[Step]:
    for record in actions:
        action = record.action
        if action.action_id == line.action_id:
            told = [f"{action.type} on {action.resource}, by {action.actor}"]
            told += [f"{one.decision}: {', '.join(one.reasons)}" for one in record.decisions]
            yield Step(what="action", ref=action.action_id, told=told)


def _approval(record: ApprovalRecord, line: Lineage) -> Iterator[Step]:
    request = record.request
    if request.approval_id in line.approval_ids:
        told = [
            f"{grant.approver} ({grant.authority}): {grant.answer}"
            f"{'' if grant.authenticated else ', name asserted'}"
            for grant in record.grants
        ]
        yield Step(what="approval", ref=request.approval_id, told=told)
