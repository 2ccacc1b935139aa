"""Who is signed in: a bearer token, known by its SHA-256 alone, names one person of one tenant.

It is a token of ours, which the database knows, or one of a file that the server's owner wrote.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from langgraph_sdk import Auth
from pydantic import ValidationError

from checkrein.compose import token_store
from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import Name
from checkrein.contracts.token import ALL_SCOPES, Scopes, TokenScope, is_token
from checkrein.errors import InputError
from checkrein.ports.tokens import REFUSED
from checkrein.settings import Settings

TOKENS = "CHECKREIN_STUDIO_TOKENS"
"""Names the file of tokens. Unset, nobody gets in but by a token of ours."""

MAX_BYTES = 1024 * 1024
"""The largest file of tokens that is read: 1 MiB."""


class Person(Frozen):
    """A signed-in person, and what their token is good for; one of a file for all, by default."""

    person: Name
    tenant: Name
    scopes: Scopes = ALL_SCOPES

    def may(self, scope: TokenScope) -> bool:
        """Whether their token is good for this. Who may begin or answer may also look."""
        looks = scope is TokenScope.READ and {TokenScope.RUN, TokenScope.APPROVE} & self.scopes
        return scope in self.scopes or bool(looks)

    def require(self, scope: TokenScope) -> None:
        """Refuse what their token is not good for.

        Raises:
            InputError: token_scope.
        """
        if not self.may(scope):
            raise InputError(
                f"The token of {self.person} is good for {', '.join(sorted(self.scopes))}, not for "
                f"{scope}. Sign in with one that is.",
                op="studio.scope",
                code="token_scope",
            )


_LOG = logging.getLogger(__name__)

_SHA256 = re.compile(r"^[0-9a-f]{64}$")


def read_people(file: Path) -> dict[str, Person]:
    """Read `{sha256 of a token: {"person": NAME, "tenant": TENANT}}`.

    Raises:
        InputError: the file is missing, too large, or not of that form. Nothing of what stands in
            it is repeated: by mistake it might be the tokens themselves.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES} bytes")
        return _people(json.loads(data))
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except OSError as error:
        problem = error.strerror or str(error)
    except ValueError as error:
        problem = str(error)
    raise InputError(
        f"{TOKENS}={file} cannot be used: {problem}. It is a JSON object that names, for the "
        'SHA-256 of each token in hex, {"person": NAME, "tenant": TENANT}.',
        op="studio.tokens",
        code="tokens_unusable",
    )


def _people(document: Any) -> dict[str, Person]:
    if not isinstance(document, dict):
        raise ValueError("it holds no object")
    people: dict[str, Person] = {}
    for number, (known, value) in enumerate(cast("dict[str, Any]", document).items(), start=1):
        if not _SHA256.match(known):
            raise ValueError(
                f"entry {number} is no SHA-256 in hex (64 digits, a to f in lower case)"
            )
        try:
            people[known] = Person.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"entry {number}: {where} {first['msg']}") from None
    return people


def find(people: Mapping[str, Person], token: str) -> Person | None:
    """The person of a token. Every entry is compared, in a time that tells nothing."""
    wanted = hashlib.sha256(token.encode()).hexdigest()
    found = None
    for known, person in people.items():
        if hmac.compare_digest(known, wanted):
            found = person
    return found


async def signed_in(
    authorization: str | None, environ: Mapping[str, str] = os.environ
) -> Person | None:
    """The person behind an Authorization header; None for nobody.

    File and database are asked anew each time, so that a token taken back is worth nothing at once.

    Raises:
        InputError: it is no token of ours, and the file of others is not named (code
            tokens_unset), or cannot be used.
        StoreError: the database cannot be asked.
    """
    scheme, _, given = (authorization or "").partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else ""
    if is_token(token):
        return await _by_token(token, environ)
    named = environ.get(TOKENS)
    if not named:
        raise InputError(
            f"Nobody can sign in so: it is no token of Checkrein's own (`checkrein token issue` "
            f"makes one), and {TOKENS} names no file of others.",
            op="studio.tokens",
            code="tokens_unset",
        )
    people = await asyncio.to_thread(read_people, Path(named))
    return find(people, token) if token else None


async def _by_token(token: str, environ: Mapping[str, str]) -> Person | None:
    """The owner of a token of ours. Why one is refused is logged; a stranger is not told."""
    # Where things lie depends on the working folder, and asking for that blocks.
    settings = await asyncio.to_thread(Settings.from_env, environ)
    async with token_store(settings) as tokens:
        try:
            known = await tokens.use(token, None)
        except InputError as error:
            if error.code not in REFUSED:
                raise
            _LOG.warning("%s", error)
            return None
    return Person(person=known.person, tenant=known.tenant, scopes=known.scopes)


def as_user(person: Person) -> Auth.types.MinimalUserDict:
    """The person as LangGraph's server carries them about."""
    user: dict[str, Any] = {
        "identity": person.person,
        "display_name": person.person,
        "is_authenticated": True,
        "permissions": sorted(person.scopes),
        "tenant": person.tenant,
    }
    return user  # type: ignore[return-value] # the tenant is ours


def of_user(user: Auth.types.BaseUser | None) -> Person | None:
    """The person again; None for whoever did not come in by a token of ours."""
    tenant = getattr(user, "tenant", None)
    if user is None or not user.is_authenticated or not isinstance(tenant, str):
        return None
    scopes = ALL_SCOPES & {str(scope) for scope in user.permissions}
    if not scopes:
        return None
    return Person(person=user.identity, tenant=tenant, scopes=frozenset(scopes))
