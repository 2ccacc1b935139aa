"""How events about effects change where an attempt stands."""

from folded import Folded, must

from checkrein.contracts import event as e
from checkrein.contracts.effect import Effect, EffectStatus, OutcomeSource


def bound(f: Folded, p: e.IntentBound) -> None:
    must(p.key not in f.effects)
    f.step_action(p.action_id, None)
    bound = {**p.model_dump(exclude={"v", "type"}), "attempt_id": f.attempt.attempt_id}
    f.effects[p.key] = Effect.model_validate({**bound, "status": EffectStatus.INTENT})


def executing(f: Folded, p: e.EffectExecuting) -> None:
    must(f.cancel_reason is None and p.fence == f.fence)
    before = next((x.fence for x in f.effects.values() if x.effect_id == p.effect_id), 0)
    marked = p.model_dump(include={"fence", "from_version", "to_version"}) | {"pending": False}
    f.step_effect(p.effect_id, p.action_id, "executing", **marked)
    must(before < p.fence)
    f.step_action(p.action_id, "running")


def received(f: Folded, p: e.EffectCommitted | e.EffectRefused | e.EffectUnknown) -> None:
    word = p.type.removeprefix("effect_")
    then = {"committed": "succeeded", "refused": "failed", "unknown": "unknown"}[word]
    source = None if word == "unknown" else OutcomeSource.EXECUTED
    f.step_effect(p.effect_id, p.action_id, word, outcome=p.outcome, source=source, pending=False)
    f.step_action(p.action_id, then)


def retried(f: Folded, p: e.EffectRetried) -> None:
    must(f.cancel_reason is None)
    f.step_effect(p.effect_id, p.action_id, "retried")
    must(any(x.effect_id == p.effect_id and x.fence == p.fence for x in f.effects.values()))
    must(p.fence == f.fence)
    f.step_action(p.action_id, None)


def pending(f: Folded, p: e.EffectPending) -> None:
    if p.sent:
        f.step_effect(p.effect_id, p.action_id, "pending", pending=True)
    f.step_action(p.action_id, None if p.sent else "pending")


def read_back(f: Folded, p: e.EffectVerified) -> None:
    found = next((x for x in f.effects.values() if x.effect_id == p.effect_id), None)
    must(found is not None and found.action_id == p.action_id)
    assert found is not None
    must(found.status is EffectStatus.COMMITTED and found.verified is None)
    f.effects[found.key] = found.model_copy(update={"verified": p.holds})
    f.step_action(p.action_id, None)


def reconciled(f: Folded, p: e.EffectReconciled) -> None:
    applied = p.outcome.status is EffectStatus.COMMITTED
    must(applied or p.outcome.status is EffectStatus.NOT_APPLIED)
    word = "reconciled" if applied else "not_applied"
    f.step_effect(p.effect_id, p.action_id, word, outcome=p.outcome, source=p.source, pending=False)
    f.step_action(p.action_id, None if applied else "failed")


def effect_denied(f: Folded, p: e.EffectDenied) -> None:
    f.step_effect(p.effect_id, p.action_id, "denied")
    f.step_action(p.action_id, None)


def deduplicated(f: Folded, p: e.ActionDeduplicated) -> None:
    f.step_action(p.action_id, "deduplicated")
