"""A token of ours: proves who somebody is. Shown once, when it is issued; kept as a hash alone."""

import hashlib
import re
import secrets
import uuid
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import Name

MAX_DAYS = 366
"""The longest that a token is good for."""

_FORM = re.compile(r"ckr_[A-Za-z0-9_-]{43}")


class TokenScope(StrEnum):
    """What a token is good for.

    Attributes:
        READ: look at attempts on the server.
        RUN: begin attempts on the server, answer a model's question, pause and cancel.
        APPROVE: answer approval requests, in each of the four ways.
        RECONCILE: settle by hand what became of an effect.
        AUTHORITY: revoke rights and give them back.
    """

    READ = "read"
    RUN = "run"
    APPROVE = "approve"
    RECONCILE = "reconcile"
    AUTHORITY = "authority"


ALL_SCOPES = frozenset(TokenScope)

Scopes = Annotated[frozenset[TokenScope], Field(min_length=1)]


class TokenOrder(Frozen):
    """What somebody wants issued: for whom, for what, and for how many days."""

    person: Name
    tenant: Name
    scopes: Scopes
    days: int = Field(ge=1, le=MAX_DAYS, strict=True)
    issued_by: Name


class Token(Frozen):
    """What is known about a token. The token itself is not, and cannot be found out.

    Attributes:
        last_used_at: when it last proved its owner, to the minute.
        expired: whether its time was over when this was read.
    """

    token_id: str
    tenant: Name
    person: Name
    scopes: Scopes
    issued_by: str
    issued_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    revoked_because: str | None = None
    last_used_at: datetime | None = None
    expired: bool = False

    @property
    def status(self) -> str:
        """good, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expired else "good"


def new_token_id() -> str:
    """A fresh id, by which a token is spoken of."""
    return "tok_" + uuid.uuid4().hex[:20]


def new_secret() -> str:
    """A fresh token: 256 random bits behind `ckr_`."""
    return "ckr_" + secrets.token_urlsafe(32)


def hash_of(secret: str) -> bytes:
    """The SHA-256 under which a token is known."""
    return hashlib.sha256(secret.encode()).digest()


def is_token(text: str) -> bool:
    """Whether a text has the form of a token of ours, known or not."""
    return _FORM.fullmatch(text) is not None
