"""revoke, grant, revocations: a person's word on what may be done, newer than any policy."""

from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table, short
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, MaybeWho
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.ports.records import Word

Subject = Annotated[
    str,
    typer.Argument(
        metavar="KIND:VALUE",
        help="user:NAME, agent:MODEL, capability:NAME, resource:NAME or grant:APPROVAL.",
    ),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
Tenant = Annotated[str, typer.Option(metavar="NAME", help="Whose tasks it is about.")]


def revoke(
    subject: Subject,
    reason: Reason,
    who: MaybeWho = None,
    tenant: Tenant = "local",
    json: Json = False,
) -> int:
    """Take a right back at once: looked at right before anything is sent, whoever approved it."""
    return _said(subject, reason, who, tenant, granted=False, json=json)


def grant(
    subject: Subject,
    reason: Reason,
    who: MaybeWho = None,
    tenant: Tenant = "local",
    json: Json = False,
) -> int:
    """Give back what was revoked; policies see it as input.grants. It permits nothing by itself."""
    return _said(subject, reason, who, tenant, granted=True, json=json)


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
    subject: str, reason: str, who: str | None, tenant: str, *, granted: bool, json: bool
) -> int:
    kind, colon, value = subject.partition(":")
    if not colon or not value:
        raise InputError(
            f"{subject[:80]!r} names nothing. Write KIND:VALUE, as capability:payments.charge.",
            op="cli.authority",
            code="unusable_argument",
        )
    by, why = words.someone(who), words.said(reason, "--reason")
    words.person(tenant)

    async def work(parts: "Parts", watch: "Watch") -> None:
        await parts.events.say(tenant, kind, value, granted=granted, by=by, reason=why)

    opened(work)
    word = "granted" if granted else "revoked"
    if json:
        out_json({"subject": subject, "word": word, "tenant": tenant, "by": by, "reason": why})
    else:
        out(f"{subject} is {word} for tenant {tenant}, from the next decision on.")
    return Exit.DONE
