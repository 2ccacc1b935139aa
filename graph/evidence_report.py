"""report.html: the evidence of one attempt, for people, as one page that needs nothing else.

Whatever a model, a tool or a person wrote stands there as text: escaped, with what would hide or
steer made visible. The page holds no script, and its own rule lets a browser load nothing.
"""

from html import escape

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import canonical
from checkrein.contracts.display import shown
from checkrein.contracts.evidence import EvidencePackage, Finishes, Handover, Stands
from checkrein.graph.evidence_page_parts import (
    approvals,
    changes,
    checks,
    commit,
    effects,
    fact_table,
    policies,
    when,
)
from checkrein.graph.evidence_page_style import CSS, POLICY

_STATE = {
    Stands.STANDS: ("good", "When this was exported, the verified state still stood."),
    Stands.MOVED: (
        "bad",
        "When this was exported, the workspace was no longer what was verified. The verification "
        "says nothing about what is there now.",
    ),
    Stands.UNREACHABLE: (
        "wait",
        "When this was exported, nobody could look whether the verified state still stood.",
    ),
    Stands.UNVERIFIED: ("wait", "No verifier accepted a result."),
}


def page(package: EvidencePackage, handover: Handover, diff: bytes | None) -> bytes:
    """Make the page; the same for equal inputs. `diff`: what the candidate changed, if kept."""
    body = "\n".join(
        [
            _header(package, handover),
            _asked(package),
            policies(package),
            approvals(package),
            effects(package),
            checks(package),
            commit(package),
            changes(package, diff),
            _integrity(package),
        ]
    )
    title = text(f"Evidence: {_goal(package)[:80]}")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{CSS}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    ).encode()


def text(value: object) -> str:
    """Foreign text as it may stand in the page."""
    return escape(shown(value))


def _goal(package: EvidencePackage) -> str:
    return str(package.contract.get("goal", ""))


def _header(package: EvidencePackage, handover: Handover) -> str:
    status = package.attempt.status
    tone = "good" if status is AttemptStatus.CANDIDATE_VERIFIED else "bad"
    state, sentence = _STATE[handover.state]
    return (
        f'<p><span class="badge {tone}">{text(status)}</span> '
        f'<span class="soft">task {text(package.task.status)}</span></p>'
        f"<h1>{text(_goal(package))}</h1>"
        f'<p><span class="badge {state}">{text(handover.state.upper())}</span> {text(sentence)} '
        f'<span class="soft">{when(handover.checked_at)}</span></p>' + _finishes(package.finishes)
    )


def _finishes(found: Finishes) -> str:
    people = "".join(
        f"<p>{text(one.by)}, {text(one.authority)} "
        f'<span class="soft">({_proof(one.authenticated)}, {when(one.at)})</span>'
        f"{'<br>' + text(one.note) if one.note else ''}</p>"
        for one in found.user_accepted
    )
    return (
        '<ul class="finishes">'
        f"<li><b>1. The model stopped</b>{when(found.protocol_final)}</li>"
        f"<li><b>2. The verifier accepted</b>{when(found.task_accepted)}</li>"
        f"<li><b>3. A person accepted</b>{people or when(None)}</li></ul>"
        '<p class="soft">Three separate facts: none of them implies the next.</p>'
    )


def _proof(authenticated: bool) -> str:
    return "proved by a token or session" if authenticated else "name asserted"


def _asked(package: EvidencePackage) -> str:
    task, attempt = package.task, package.attempt
    rows = [
        ("asked by", text(task.requested_by)),
        ("risk", text(task.risk)),
        ("commit authority", text(task.commit_authority or "nobody")),
        ("worked on by", text(attempt.model)),
        ("started", when(attempt.started_at)),
        ("granted", text(", ".join(map(str, package.contract.get("capabilities", []))) or "none")),
        *(("given", f"<code>{text(given)}</code>") for given in package.inputs),
        *(("constraint", text(_rule(rule))) for rule in package.contract.get("constraints", [])),
    ]
    return "<h2>Who asked, and for what</h2>" + fact_table(rows)


def _rule(rule: object) -> str:
    """A constraint in the words of the task file."""
    return rule if isinstance(rule, str) else canonical(rule).decode()


def _integrity(package: EvidencePackage) -> str:
    rows = [
        ("task", f"<code>{text(package.task.task_id)}</code>"),
        ("attempt", f"<code>{text(package.attempt.attempt_id)}</code>"),
        ("events", str(package.head.seq)),
        ("chain ends in", f"<code>{text(package.head.hash)}</code>"),
    ]
    return (
        "<h2>How to check this</h2>"
        "<p>This page is one file of an evidence folder. <code>checkrein evidence verify "
        "FOLDER</code> needs no database: it checks every byte, the chain of events, the rules "
        "that each trace must keep, and that this page is what they amount to. Compare the end of "
        "the chain with one that was noted elsewhere.</p>" + fact_table(rows)
    )
