"""The parts of the evidence page: policies, approvals, effects, checks, the commit, the diff."""

from collections.abc import Iterable
from datetime import datetime
from html import escape

from checkrein.contracts.approval import Answer
from checkrein.contracts.display import shown
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.contracts.evidence import (
    ActionRecord,
    ApprovalRecord,
    EvidencePackage,
    Lineage,
)
from checkrein.contracts.verification import CheckStatus, VerificationResult

MAX_TEXT = 400_000
"""Characters of a diff or preview that the page shows; the folder holds all of it."""

_TONES = {
    EffectStatus.COMMITTED: "good",
    EffectStatus.REFUSED: "bad",
    EffectStatus.UNKNOWN_EFFECT: "bad",
}


def when(at: datetime | None) -> str:
    """A time for people, in UTC; or that there is none."""
    if at is None:
        return '<span class="soft">not yet</span>'
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def fact_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and their values; a value is HTML already."""
    told = "".join(f'<tr><th>{escape(n)}</th><td class="wide">{v}</td></tr>' for n, v in rows)
    return f"<table>{told}</table>"


def policies(package: EvidencePackage) -> str:
    """Which rules judged what, action by action."""
    versions = [("rules", _code(version)) for version in package.policies]
    rows = "".join(_judged(record) for record in package.actions)
    table = f"<table><tr><th>act</th><th>on</th><th>the policy says</th></tr>{rows}</table>"
    return "<h2>Which policy</h2>" + fact_table(versions) + (table if rows else "")


def _judged(record: ActionRecord) -> str:
    action = record.action
    said = "<br>".join(
        f"{_text(one.decision)}: {_text(', '.join(one.reasons))}" for one in record.decisions
    )
    return f"<tr><td>{_text(action.type)}</td><td>{_text(action.resource)}</td><td>{said}</td></tr>"


def approvals(package: EvidencePackage) -> str:
    """Who was asked what exactly, and what they said."""
    told = "".join(map(_approval, package.approvals)) or "<p>Nobody was asked.</p>"
    return "<h2>Who approved what, exactly</h2>" + told


def _approval(record: ApprovalRecord) -> str:
    request = record.request
    answers = "".join(
        f'<p><span class="badge {"good" if grant.answer is Answer.APPROVE else "bad"}">'
        f"{_text(grant.answer)}</span> {_text(grant.approver)} as {_text(grant.authority)}, "
        f"{'proved by a token or session' if grant.authenticated else 'name asserted'}"
        f"{', ' + when(grant.decided_at) if grant.decided_at else ''}"
        f"{'. ' + _text(grant.reason) if grant.reason else ''}</p>"
        for grant in record.grants
    )
    rows = [
        ("bound to", _code(request.operation_hash)),
        ("at version", _code(request.resource_version)),
    ]
    return (
        f'<div class="card"><h3>{_text(request.capability)} on {_text(request.resource)} '
        f'<span class="soft">{_text(request.status)}</span></h3>{answers}'
        f"{fact_table(rows)}{lines(request.preview)}</div>"
    )


def effects(package: EvidencePackage) -> str:
    """What really changed outside, with the receipt of each."""
    by_id = {line.effect_id: line for line in package.lineage}
    told = "".join(_effect(effect, by_id.get(effect.effect_id)) for effect in package.effects)
    return "<h2>What was done</h2>" + (told or "<p>Nothing outside was changed.</p>")


def _effect(effect: Effect, line: Lineage | None) -> str:
    tone = _TONES.get(effect.status, "wait")
    rows = [
        ("effect", _code(effect.effect_id)),
        ("from", _code(effect.from_version or "-")),
        ("to", _code(effect.to_version or "-")),
    ]
    if effect.verified is not None:
        rows.append(("read back", "it shows" if effect.verified else "it does NOT show"))
    if line is not None:
        rows += [
            ("allowed by rules", _code(line.policy_version or "-")),
            ("approved by", _code(", ".join(line.approval_ids) or "no approval was asked for")),
            ("proposed in", f"turn {line.turn}, context {_code(line.context)}"),
        ]
    return (
        f'<div class="card"><h3><span class="badge {tone}">{_text(effect.status)}</span> '
        f"{_text(effect.resource)}</h3>{fact_table(rows)}</div>"
    )


def checks(package: EvidencePackage) -> str:
    """What proves it."""
    verdict = package.verification
    if verdict is None:
        return "<h2>What proves it</h2><p>Nothing: no verifier judged a result.</p>"
    claim = "" if package.candidate is None else package.candidate.summary
    said = f"<p>The model said: {_text(claim)}</p>" if claim else ""
    return "<h2>What proves it</h2>" + said + _checks(verdict)


def _checks(verdict: VerificationResult) -> str:
    rows = "".join(
        f'<tr><td><span class="badge {"good" if one.status is CheckStatus.PASS else "bad"}">'
        f"{_text(one.status)}</span></td><td>{_text(one.name)}</td>"
        f"<td>{_text(one.gap)}</td></tr>"
        for one in verdict.checks
    )
    state = fact_table([("of the state", _code(verdict.state_digest))])
    return f"<table>{rows}</table>{state}"


def commit(package: EvidencePackage) -> str:
    """The final commit, where there was one."""
    found = package.final_commit
    if found is None or found.attempt.commit is None:
        return "<h2>The final commit</h2><p>It was not made. Verification publishes nothing.</p>"
    of = found.attempt.commit
    proof = "proved by a token or session" if of.authenticated else "name asserted"
    rows = [
        ("committed by", f"{_text(of.by)} ({proof})"),
        ("at", when(found.committed_at)),
        ("state", _code(of.state_digest)),
        ("chain ends in", _code(found.head.hash)),
    ]
    lineage = {line.effect_id: line for line in found.lineage}
    told = "".join(_effect(effect, lineage.get(effect.effect_id)) for effect in found.effects)
    asked = "".join(map(_approval, found.approvals))
    proved = "" if found.verification is None else _checks(found.verification)
    return "<h2>The final commit</h2>" + fact_table(rows) + asked + told + proved


def changes(package: EvidencePackage, diff: bytes | None) -> str:
    """What the candidate changed."""
    words = {(True, False): "added", (False, True): "removed"}
    rows = [
        (
            words.get((file.before is None, file.after is None), "changed"),
            f"{_text(file.path)} {_code(file.after or '')}",
        )
        for file in package.changed
    ]
    told = fact_table(rows) if rows else "<p>No file is listed as changed.</p>"
    whole = "" if diff is None else lines(diff.decode("utf-8", "replace"))
    return "<h2>What changed</h2>" + told + whole


def lines(value: str) -> str:
    """A diff or preview, line by line, in the colours of its signs."""
    if not value:
        return ""
    kept = shown(value[:MAX_TEXT], lines=True).rstrip("\n").split("\n")
    told = "".join(f'<span class="{_sign(line)}">{escape(line)}</span>' for line in kept)
    more = "" if len(value) <= MAX_TEXT else '<p class="soft">The folder holds the rest.</p>'
    return f"<pre>{told}</pre>{more}"


def _sign(line: str) -> str:
    if line.startswith(("+++", "---", "diff ")):
        return "head"
    return {"+": "add", "-": "del", "@": "at"}.get(line[:1], "same")


def _text(value: object) -> str:
    return escape(shown(value))


def _code(value: object) -> str:
    return f"<code>{_text(value)}</code>"
