"""effects, reconcile: what really changed outside, and settling what nobody knows the fate of."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table, short
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import Claim, check_tenant, claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, TokenFile
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.reconciliation import Reconciled
    from checkrein.ports.records import EffectRecord

OUTCOMES: dict[str, Literal["committed", "not-applied"]] = {
    "committed": "committed",
    "not-applied": "not-applied",
}


def effects(
    attempt: Annotated[str | None, typer.Argument(metavar="[ATTEMPT]")] = None, json: Json = False
) -> int:
    """List an attempt's effects; without an id, every effect whose fate is not known."""
    prefix = None if attempt is None else words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> "list[EffectRecord]":
        attempt_id = None if prefix is None else await parts.records.resolve(prefix)
        return await parts.records.ledger(attempt_id)

    found = opened(work)
    if json:
        out_json({"effects": [effect_json(one) for one in found]})
    elif not found:
        out("No effects." if attempt else "Every effect is settled.")
    else:
        out_table(("effect", "status", "capability", "resource", "tries"), map(_row, found))
        for one in found:
            if _unsettled(one):
                out(f"next: checkrein reconcile {one.effect.effect_id}")
    return Exit.DONE


def reconcile(
    effect: Annotated[
        str, typer.Argument(metavar="EFFECT", help="An effect's id, as `checkrein effects` lists.")
    ],
    who: Annotated[
        str | None,
        typer.Option("--as", metavar="WHO", help="Settle it by hand, as this person."),
    ] = None,
    token_file: TokenFile = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="committed|not-applied", help="What became of it.")
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(metavar="REF", help="What the person's word rests on: a receipt, a ticket."),
    ] = None,
    json: Json = False,
) -> int:
    """Ask the target what became of an effect, or record a person's word on it.

    Exit code 0: it is settled. 3: the target proves nothing, so that a person must.
    """
    effect_id = words.identifier(effect, "EFFECT")
    by_hand = any(value is not None for value in (who, token_file, outcome, evidence))
    claimed = claim(who, token_file) if by_hand else None
    if claimed is not None and (claimed.nobody or outcome is None or evidence is None):
        raise InputError(
            "By hand it takes all three: --as WHO --outcome committed|not-applied --evidence REF. "
            "A token stands for --as.",
            op="cli.reconcile",
            code="usage",
        )

    async def work(parts: "Parts", watch: "Watch") -> "Reconciled":
        from checkrein.graph.reconciliation import reconcile_by_target

        if claimed is None or outcome is None or evidence is None:
            watch.waiting("the target's answer")
            return await reconcile_by_target(parts.front_door, effect_id)
        return await _by_hand(parts, effect_id, claimed, outcome, evidence)

    return _told(opened(work), json=json)


async def _by_hand(
    parts: "Parts", effect_id: str, claimed: Claim, outcome: str, evidence: str
) -> "Reconciled":
    from checkrein.graph.reconciliation import reconcile_by_person

    who = await claimed.proved(parts, "reconcile")
    record = await parts.records.effect(effect_id)
    await check_tenant(parts, record.effect.attempt_id, who)
    return await reconcile_by_person(
        parts.front_door,
        effect_id,
        _outcome(outcome),
        by=who.name,
        evidence=words.said(evidence, "--evidence"),
        authenticated=who.authenticated,
    )


def effect_json(record: "EffectRecord") -> dict[str, Any]:
    """One effect as programs see it, with its tries and what it was made by."""
    whole = record.model_dump(mode="json")
    return {**whole.pop("effect"), **whole}


def _outcome(text: str) -> Literal["committed", "not-applied"]:
    if text not in OUTCOMES:
        raise InputError(
            f"--outcome is committed or not-applied, not {text[:40]!r}.",
            op="cli.reconcile",
            code="usage",
        )
    return OUTCOMES[text]


def _told(found: "Reconciled", *, json: bool) -> int:
    effect = found.record.effect
    go_on = [f"checkrein resume {effect.attempt_id}"]
    by_hand = (
        f"checkrein reconcile {effect.effect_id} --as WHO --outcome committed|not-applied "
        "--evidence REF"
    )
    code = Exit.DONE if found.settled else Exit.SUSPENDED
    if json:
        steps = go_on if found.settled else []
        note = None if found.settled else f"The target proves nothing. By hand: {by_hand}"
        out_json(
            {
                "effect": effect_json(found.record),
                "settled": found.settled,
                "next": steps,
                "next_note": note,
            }
        )
        return code
    if found.settled:
        out(f"{effect.effect_id} is {effect.status} ({effect.source}).")
        out(f"next: {go_on[0]}")
    else:
        out(f"{effect.effect_id} stays {effect.status}: the target proves nothing about it.")
        out(f"next: {by_hand}")
    return code


def _unsettled(record: "EffectRecord") -> bool:
    from checkrein.contracts.effect import FINAL

    return record.effect.status not in FINAL


def _row(record: "EffectRecord") -> tuple[str, str, str, str, str]:
    effect = record.effect
    known = "" if effect.source is None else f" ({effect.source})"
    doubt = ", NOT as read back" if effect.verified is False else ""
    return (
        effect.effect_id,
        f"{effect.status}{known}{doubt}",
        record.capability,
        short(effect.resource, 40),
        str(len(record.tries)),
    )
