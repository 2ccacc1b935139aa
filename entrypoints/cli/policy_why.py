"""policy eval and policy explain: what a bundle answers, and by which of its rules."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet, opened
from checkrein.entrypoints.cli.options import Json
from checkrein.entrypoints.cli.policy_words import decision_lines, rule_lines
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.decision import PolicyDecision
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.policy_rego.authoring import Bundle, Explanation
    from checkrein.ports.decisions import RecordedDecision

Bundled = Annotated[
    Path | None,
    typer.Option("--policy", metavar="DIR", help="The bundle's folder; else the shipped one."),
]
Why = Annotated[bool, typer.Option("--why", help="Say which rules fired, and what failed first.")]

_OURS = frozenset(
    {
        "constraint_unavailable",
        "constraints_changed",
        "preview_unavailable",
        "repeats_effect",
        "revoked",
    }
)
"""Reason codes of answers that the harness made stricter after the policy had given its own."""


def evaluate(
    file: Annotated[
        Path, typer.Argument(metavar="INPUT.json", help="A decision input; - reads it from stdin.")
    ],
    policy: Bundled = None,
    why: Why = False,
    json: Json = False,
) -> int:
    """Show what a bundle decides on one input, and with --why by which rules."""
    be_quiet()
    text = _text(file)
    with Live("the policy engine"):
        from checkrein.policy_rego import authoring

        document = authoring.read_input(text, where=str(file))
        bundle = _bundle(policy)
        explanation = asyncio.run(authoring.explained(bundle, document, why=why))
    if json:
        out_json({"path": bundle.origin, **_facts(explanation, why)})
        return Exit.DONE
    _print(explanation, why)
    return Exit.DONE


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DECISION", help="ATTEMPT/SEQ: an attempt and the seq that its trace shows."
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="DIR", help="Another bundle than the task's own."),
    ] = None,
    only_input: Annotated[
        bool, typer.Option("--input", help="Print the exact input that was judged, and no more.")
    ] = False,
    json: Json = False,
) -> int:
    """Judge a recorded decision again, from its exact input; exit code 1 if the answer differs."""
    recorded = _recorded(name)
    document = _input_of(recorded)
    if only_input:
        out(document)
        return Exit.DONE
    with Live("the policy engine"):
        from checkrein.policy_rego import authoring

        folder = policy or (Path(recorded.policy) if recorded.policy else None)
        bundle = _bundle(folder)
        explanation = asyncio.run(authoring.explained(bundle, document))
    # Whatever the policy says now, an answer of the harness's own cannot be had from it.
    ours = recorded.decision.reason_code in _OURS
    same = None if ours else _core(recorded.decision) == _core(explanation.decision)
    if json:
        out_json({**_known(recorded, bundle), "same": same, **_facts(explanation, True)})
    else:
        _print_recorded(recorded, bundle, same)
        _print(explanation, True)
    return Exit.WRONG if same is False else Exit.DONE


def _recorded(name: str) -> "RecordedDecision":
    attempt, _, seq = name.partition("/")
    prefix = words.identifier(attempt, "DECISION")
    # Without a seq, the message lists which there are.
    number = int(seq) if seq.isdecimal() and len(seq) < 19 else 0
    if seq and not number:
        raise InputError(
            f"DECISION {shown(name)} is no ATTEMPT/SEQ; `checkrein trace ATTEMPT` shows each seq.",
            op="policy.explain",
            code="unusable_argument",
        )

    async def work(parts: "Parts", watch: "Watch") -> "RecordedDecision":
        attempt_id = await parts.records.resolve(prefix)
        return await parts.decisions.one(attempt_id, number)

    return opened(work)


def _input_of(recorded: "RecordedDecision") -> str:
    if recorded.input is None:
        raise InputError(
            f"Decision {recorded.name} has no input: none could be written. It was denied as "
            f"{recorded.decision.reason_code}.",
            op="policy.explain",
            code="no_input",
        )
    return recorded.input.decode()


def _text(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}. Name a file with one decision input.",
            op="policy.eval",
            code="file_unreadable",
            context={"path": str(file)},
        ) from error


def _bundle(folder: Path | None) -> "Bundle":
    from checkrein.policy_rego import authoring

    return authoring.shipped_bundle() if folder is None else authoring.load_bundle(folder)


def _core(decision: "PolicyDecision") -> dict[str, Any]:
    """What makes two answers the same, wherever and whenever they were given."""
    fields = {"decision", "reason_code", "reasons", "constraints", "approval", "obligations"}
    return decision.model_dump(mode="json", include=fields)


def _known(recorded: "RecordedDecision", bundle: "Bundle") -> dict[str, Any]:
    return {
        "decision_id": recorded.name,
        "phase": recorded.phase,
        "at": recorded.at,
        "recorded": recorded.decision.model_dump(mode="json"),
        "path": bundle.origin,
        "same_bundle": bundle.version == recorded.decision.policy_version,
    }


def _facts(explanation: "Explanation", why: bool) -> dict[str, Any]:
    whole = explanation.model_dump(mode="json")
    return whole if why else {"decision": whole["decision"]}


def _print(explanation: "Explanation", why: bool) -> None:
    for line in decision_lines(explanation.decision):
        out(line)
    out(f"  by the bundle {explanation.decision.policy_version}")
    for line in rule_lines(explanation) if why else ():
        out(line)


def _print_recorded(recorded: "RecordedDecision", bundle: "Bundle", same: bool | None) -> None:
    decision = recorded.decision
    out(f"decision {recorded.name}, {recorded.phase}, {shown(recorded.at)}")
    out(f"  recorded: {decision.decision} ({', '.join(map(shown, decision.reasons))})")
    if bundle.version == decision.policy_version:
        out(f"  the bundle {shown(bundle.origin)} is the one that decided")
    else:
        out(f"  the bundle {shown(bundle.origin)} is NOT the one that decided")
        out(f"    then {decision.policy_version}")
        out(f"    now  {bundle.version}")
    if same is None:
        out("  the recorded answer was made stricter by Checkrein itself; the policy's own is:")
    else:
        out(f"  it answers {'the same' if same else 'OTHERWISE'} now:")
