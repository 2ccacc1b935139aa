"""revoke, grant, revocations: a person's word on what may be done, newer than any policy."""

from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table, short
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import Claim, claim_or_me
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, MaybeWho, TokenFile
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import Approver
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.ports.records import Word

Subject = Annotated[
    str,
    typer.Argument(
        metavar="KIND:VALUE",
        help=(
            "user:NAME, agent:MODEL, capability:NAME, resource:NAME, grant:APPROVAL or secret:NAME."
        ),
    ),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
Tenant = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Whose tasks it is about; else the token's, else local."),
]


def revoke(
    subject: Subject,
    reason: Reason,
    who: MaybeWho = None,
    token_file: TokenFile = None,
    tenant: Tenant = None,
    json: Json = False,
) -> int:
    """Take a right back at once: looked at right before anything is sent, whoever approved it."""
    return _said(subject, reason, claim_or_me(who, token_file), tenant, granted=False, json=json)


def grant(
    subject: Subject,
    reason: Reason,
    who: MaybeWho = None,
    token_file: TokenFile = None,
    tenant: Tenant = None,
    json: Json = False,
) -> int:
    """Give back what was revoked; policies see it as input.grants. It permits nothing by itself."""
    return _said(subject, reason, claim_or_me(who, token_file), tenant, granted=True, json=json)


def revocations(json: Json = False) -> int:
    """List every word that was said on what may be done, newest first."""

    async def work(parts: "Parts", watch: "Watch") -> "list[Word]":
        return await parts.records.authority()

    found = opened(work)
    if json:
        out_json({"authority": [word.model_dump(mode="json") for word in found]})
    elif not found:
        out("Nothing was revoked.")
    else:
        out_table(
            ("subject", "word", "tenant", "by", "at", "reason"),
            (
                (
                    f"{word.kind}:{word.value}",
                    ("granted" if word.granted else "revoked") + ("" if word.newest else " (old)"),
                    word.tenant,
                    word.said_by,
                    word.at,
                    short(word.reason, 40),
                )
                for word in found
            ),
        )
    return Exit.DONE


def _said(
    subject: str, reason: str, claimed: Claim, tenant: str | None, *, granted: bool, json: bool
) -> int:
    kind, colon, value = subject.partition(":")
    if not colon or not value:
        raise InputError(
            f"{subject[:80]!r} names nothing. Write KIND:VALUE, as capability:payments.charge.",
            op="cli.authority",
            code="unusable_argument",
        )
    why = words.said(reason, "--reason")
    chosen = None if tenant is None else words.person(tenant, "--tenant")

    async def work(parts: "Parts", watch: "Watch") -> tuple[str, str]:
        who = await claimed.proved(parts, "authority")
        of = _tenant(chosen, who)
        await parts.events.say(of, kind, value, granted=granted, by=who.name, reason=why)
        return of, who.name

    of, by = opened(work)
    word = "granted" if granted else "revoked"
    if json:
        out_json({"subject": subject, "word": word, "tenant": of, "by": by, "reason": why})
    else:
        out(f"{subject} is {word} for tenant {of}, from the next decision on.")
    return Exit.DONE


def _tenant(chosen: str | None, who: "Approver") -> str:
    """The tenant that a word is about; whoever a token signs in speaks for theirs alone."""
    if who.tenant is None:
        return chosen or "local"
    if chosen not in {None, who.tenant}:
        raise InputError(
            f"--tenant {chosen}: the token of {who.name} signs in to {who.tenant}. Leave --tenant "
            "out, or use a token for that tenant.",
            op="cli.authority",
            code="other_tenant",
        )
    return who.tenant
