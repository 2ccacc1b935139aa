"""Auth for LangGraph's server: who gets in, and what they may do. Whatever is not named is refused.

The thread's metadata names the tenant. Nobody can change it: it is written when the thread is made,
and updates are refused.
"""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from langgraph_sdk import Auth

from checkrein.compose import composed
from checkrein.contracts.token import TokenScope
from checkrein.errors import BusyError, CheckreinError, ConflictError, InputError
from checkrein.settings import Settings
from checkrein.studio_people import Person, as_user, of_user, signed_in
from checkrein.studio_requests import allow, check

TENANT = "checkrein_tenant"
"""Key of a thread's metadata."""

_LOG = logging.getLogger(__name__)
_NOT_THEIRS = frozenset(
    {"approver_not_permitted", "requester_excluded", "other_tenant", "token_scope"}
)
_SIGN_IN = "Sign in: send `Authorization: Bearer TOKEN` with a token that this server knows."

Filter = dict[str, str]


def make_auth() -> Auth:
    """The object that langgraph.json names."""
    auth = Auth()
    auth.authenticate(authenticate)
    auth.on(refuse)
    auth.on.threads.create(create_thread)
    auth.on.threads.read(read_threads)
    auth.on.threads.search(read_threads)
    auth.on.threads.update(refuse_update)
    auth.on.threads.create_run(create_run)
    auth.on.assistants.read(read_assistants)
    auth.on.assistants.search(read_assistants)
    return auth


async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Who holds this token? Nobody gets in without one."""
    try:
        person = await signed_in(authorization)
    except InputError as error:
        # For whoever runs the server; a stranger learns no path.
        _LOG.warning("%s", error)
        if error.code == "tokens_unset":
            raise Auth.exceptions.HTTPException(401, _SIGN_IN) from error
        raise Auth.exceptions.HTTPException(
            401, "Nobody can sign in here: the server's tokens cannot be read; its log says why."
        ) from error
    except CheckreinError as error:
        _LOG.error("%s", error)
        raise Auth.exceptions.HTTPException(
            503, "Nobody can sign in at the moment: the server's log says why."
        ) from error
    if person is None:
        raise Auth.exceptions.HTTPException(401, _SIGN_IN)
    return as_user(person)


async def refuse(*, ctx: Auth.types.AuthContext, value: Auth.types.on.value) -> bool:
    """Assistants, crons, the store and deleting have no use here."""
    raise Auth.exceptions.HTTPException(
        403, f"{ctx.resource}.{ctx.action} is refused: attempts have no use for it."
    )


async def refuse_update(*, ctx: Auth.types.AuthContext, value: Auth.types.ThreadsUpdate) -> bool:
    """State is nobody's to write, and a server's cancel would only cut the connection."""
    raise Auth.exceptions.HTTPException(
        403,
        "Updating a thread is refused: its state is no authority. Answer what is pending by "
        "`command.resume`; stop an attempt with `checkrein pause` or `checkrein cancel`.",
    )


async def create_thread(*, ctx: Auth.types.AuthContext, value: Auth.types.ThreadsCreate) -> Filter:
    """A thread belongs to the tenant of whoever makes it."""
    return _stamped(cast("dict[str, Any]", value), _person(ctx, TokenScope.RUN))


async def read_threads(
    *, ctx: Auth.types.AuthContext, value: Auth.types.ThreadsRead | Auth.types.ThreadsSearch
) -> Filter:
    """People see the threads of their tenant."""
    return {TENANT: _person(ctx, TokenScope.READ).tenant}


async def read_assistants(
    *,
    ctx: Auth.types.AuthContext,
    value: Auth.types.AssistantsRead | Auth.types.AssistantsSearch,
) -> bool:
    """The graph is the same for everybody who is signed in."""
    _person(ctx, TokenScope.READ)
    return True


async def create_run(*, ctx: Auth.types.AuthContext, value: Auth.types.RunsCreate) -> Filter:
    """Refuse what leads around the graph; record an answer; let the rest begin."""
    person = _person(ctx, TokenScope.READ)  # what more it takes depends on what is asked
    asked = cast("dict[str, Any]", value)
    with _as_http():
        await check(asked)
        settings = await asyncio.to_thread(Settings.from_env)
        async with composed(settings) as parts:
            await allow(parts, asked, person)
    return _stamped(asked, person)


def _stamped(value: dict[str, Any], person: Person) -> Filter:
    """Write the tenant into what is about to be stored, and ask that it be theirs."""
    if value.get("metadata") is None:
        value["metadata"] = {}
    value["metadata"][TENANT] = person.tenant
    return {TENANT: person.tenant}


def _person(ctx: Auth.types.AuthContext, scope: TokenScope) -> Person:
    person = of_user(ctx.user)
    if person is None:
        raise Auth.exceptions.HTTPException(401, "Sign in with a token of this server.")
    with _as_http():
        person.require(scope)
    return person


@contextmanager
def _as_http() -> Generator[None]:
    """Errors of ours as HTTP statuses, with their message."""
    try:
        yield
    except (ConflictError, BusyError) as error:
        raise Auth.exceptions.HTTPException(409, str(error)) from error
    except InputError as error:
        status = 403 if error.code in _NOT_THEIRS else 422
        raise Auth.exceptions.HTTPException(status, str(error)) from error
    except CheckreinError as error:
        raise Auth.exceptions.HTTPException(503, str(error)) from error
