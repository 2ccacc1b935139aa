"""token: issue, list and revoke the tokens that prove who somebody is."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, MaybeWho
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.token import Token
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.ports.tokens import IssuedToken

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Tokens that prove who somebody is, for approvals above the risk of an asserted name.",
)


@app.command()
def issue(
    person: Annotated[str, typer.Option(metavar="NAME", help="Whose token it is.")],
    tenant: Annotated[str, typer.Option(metavar="NAME", help="The tenant they sign in to.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="read|run|approve|reconcile|authority",
            help="What it is good for; may be given several times. Default: approve.",
        ),
    ] = None,
    days: Annotated[
        int, typer.Option(min=1, max=366, metavar="N", help="How long it is good for.")
    ] = 30,
    who: MaybeWho = None,
    json: Json = False,
) -> int:
    """Make a token and show it, once: it is stored nowhere, and cannot be shown again."""
    from checkrein.contracts.token import TokenOrder

    order = TokenOrder(
        person=words.person(person, "--person"),
        tenant=words.person(tenant, "--tenant"),
        scopes=frozenset(_scopes(scope or ["approve"])),
        days=days,
        issued_by=words.someone(who),
    )

    async def work(parts: "Parts", watch: "Watch") -> "IssuedToken":
        return await parts.tokens.issue(order)

    issued = opened(work)
    if json:
        out_json({"token": issued.secret, **_json(issued.token)})
        return Exit.DONE
    token = issued.token
    out(issued.secret)
    out(
        f"It is {token.token_id}, for {token.person} of {token.tenant}; good for {_good_for(token)}"
    )
    out(f"until {token.expires_at:%Y-%m-%d %H:%M} UTC. It is not shown again.")
    return Exit.DONE


@app.command("list")
def listed(
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those of one tenant; else all.")
    ] = None,
    json: Json = False,
) -> int:
    """List tokens, newest first; the tokens themselves are not known."""
    chosen = None if tenant is None else words.person(tenant, "--tenant")

    async def work(parts: "Parts", watch: "Watch") -> "list[Token]":
        return await parts.tokens.listed(chosen)

    found = opened(work)
    if json:
        out_json({"tokens": [_json(token) for token in found]})
    elif not found:
        out("No token was issued.")
    else:
        head = ("token", "person", "tenant", "good for", "status", "until", "last used")
        out_table(head, map(_row, found))
    return Exit.DONE


@app.command()
def revoke(
    token: Annotated[
        str, typer.Argument(metavar="TOKEN_ID", help="As `checkrein token list` shows it.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")],
    who: MaybeWho = None,
    json: Json = False,
) -> int:
    """Take a token back: it gives no more answers. Those that it gave stand.

    `checkrein revoke user:NAME` takes these back too.
    """
    token_id, why = words.identifier(token, "TOKEN_ID"), words.said(reason, "--reason")
    by = words.someone(who)

    async def work(parts: "Parts", watch: "Watch") -> "Token":
        return await parts.tokens.revoke(token_id, by=by, reason=why)

    gone = opened(work)
    if json:
        out_json(_json(gone))
    else:
        out(f"{gone.token_id} of {gone.person} is revoked by {gone.revoked_by}.")
        out(f"Its answers stand; `checkrein revoke user:{gone.person}` takes them back too.")
    return Exit.DONE


def _scopes(given: list[str]) -> list[Any]:
    from checkrein.contracts.token import TokenScope

    known = [str(scope) for scope in TokenScope]
    for name in given:
        if name not in known:
            raise InputError(
                f"--scope {name[:40]!r} is none of {', '.join(known)}.",
                op="cli.token",
                code="unusable_argument",
            )
    return [TokenScope(name) for name in given]


def _json(token: "Token") -> dict[str, Any]:
    whole = token.model_dump(mode="json")
    return {**whole, "scopes": sorted(token.scopes), "status": token.status}


def _good_for(token: "Token") -> str:
    return ", ".join(sorted(token.scopes))


def _row(token: "Token") -> tuple[str, ...]:
    used = "never" if token.last_used_at is None else f"{token.last_used_at:%Y-%m-%d %H:%M}"
    until = f"{token.expires_at:%Y-%m-%d %H:%M}"
    return (
        token.token_id,
        token.person,
        token.tenant,
        _good_for(token),
        token.status,
        until,
        used,
    )
