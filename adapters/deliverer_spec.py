"""The file of deliverers: who is told of approvals, and how. Of secrets it holds only names."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from checkrein.adapters.addresses import url_fact
from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import Name
from checkrein.errors import CapabilityError
from checkrein.schema_faults import read_model
from checkrein.strict_yaml import read_yaml

MAX_BYTES = 256 * 1024
"""The largest file of deliverers that is read."""

Variable = Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,127}$")]
"""The name of an environment variable that holds a secret."""

Address = Annotated[
    str,
    Field(
        max_length=254,
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
    ),
]
"""A mail address in ASCII, without a name around it."""

_DAY_S = 86_400.0
_OP = "deliverers.load"
_ADVICE = {
    "deliverers": "list at least one, for example {name: log, kind: log}",
    "deliverers[].kind": "write log, command, webhook or email",
    "deliverers[].argv": "name the program to run, for example [/usr/local/bin/tell]",
    "deliverers[].secret_env": "name the environment variable that holds the secret",
}


class DelivererSpec(Frozen):
    """What every deliverer has.

    Attributes:
        name: by which its deliveries are recorded. Another name is another deliverer.
        tenant: the only tenant whose messages it gets; none is every tenant.
        timeout_s: most seconds of one delivery.
        give_up_after_days: how long after the first try a message is given up.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    tenant: Name | None = None
    timeout_s: int = Field(default=10, ge=1, le=300)
    give_up_after_days: int = Field(default=7, ge=1, le=60)

    @property
    def give_up_s(self) -> float:
        """The same in seconds."""
        return self.give_up_after_days * _DAY_S


class LogSpec(DelivererSpec):
    """Lines of JSON in a file below CHECKREIN_HOME."""

    kind: Literal["log"]
    path: str = Field(
        default="deliveries.jsonl",
        max_length=512,
        pattern=r"^[\w-][\w.-]*(/[\w-][\w.-]*)*$",
    )


class CommandSpec(DelivererSpec):
    """A program, without a shell, that gets the message as JSON on its standard input."""

    kind: Literal["command"]
    argv: list[Annotated[str, Field(min_length=1, max_length=4096)]] = Field(
        min_length=1, max_length=256
    )


class WebhookSpec(DelivererSpec):
    """A signed POST.

    Attributes:
        secret_env: the variable with the key of the signatures, `whsec_` and base64.
        allow_private: the host may lead to addresses that are not public.
        allow_http: without encryption. Whoever is on the way can read and change it.
        ca_file: certificates of the authority to believe, in place of the usual ones.
    """

    kind: Literal["webhook"]
    url: str = Field(max_length=2048)
    secret_env: Variable
    allow_private: bool = False
    allow_http: bool = False
    ca_file: str | None = None

    @model_validator(mode="after")
    def _usable(self) -> "WebhookSpec":
        try:
            fact = url_fact(self.url, op=_OP)
        except CapabilityError as error:
            raise ValueError(f"the url cannot be used. {error.advice}") from error
        if fact.scheme not in ("https", "http") or (fact.scheme == "http" and not self.allow_http):
            raise ValueError("the url must be https; allow_http: true permits http to this host")
        if fact.has_userinfo or "#" in self.url or not self.url.isascii():
            raise ValueError("the url must be ASCII, without a name, a password or a fragment")
        return self


class EmailSpec(DelivererSpec):
    """Mail.

    Attributes:
        security: starttls encrypts or sends nothing; tls from the first byte on; none not at all.
        to: who gets every message.
        by_role: who gets those that ask for a role's answer.
        password_env: the variable with the password of `username`.
    """

    kind: Literal["email"]
    host: str = Field(pattern=r"^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$")
    port: int = Field(default=587, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Address
    to: list[Address] = Field(default_factory=list[str], max_length=50)
    by_role: dict[Name, list[Address]] = Field(default_factory=dict[str, list[str]])
    username: str | None = Field(default=None, min_length=1, max_length=256)
    password_env: Variable | None = None
    ca_file: str | None = None

    @model_validator(mode="after")
    def _usable(self) -> "EmailSpec":
        if not self.to and not any(self.by_role.values()):
            raise ValueError("name recipients: `to`, `by_role`, or both")
        if (self.username is None) != (self.password_env is None):
            raise ValueError("username and password_env go together")
        if self.username is not None and self.security == "none":
            raise ValueError("a password needs security: starttls or tls")
        return self


AnySpec = Annotated[LogSpec | CommandSpec | WebhookSpec | EmailSpec, Field(discriminator="kind")]


class DeliverersFile(Frozen):
    """Who is told of approvals. Each deliverer gets every message that it is meant for."""

    version: Literal[1]
    deliverers: list[AnySpec] = Field(min_length=1, max_length=32)

    @model_validator(mode="after")
    def _apart(self) -> "DeliverersFile":
        names = [spec.name for spec in self.deliverers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two deliverers are called {twice[0]}; rename one")
        return self


def load_deliverers(path: Path) -> list[AnySpec]:
    """Read the file; what paths in it are relative to is its own folder.

    Raises:
        InputError: the file or what stands in it cannot be used; it names file, line and field.
    """
    document = read_yaml(path, what="file of deliverers", op=_OP, max_bytes=MAX_BYTES)
    found = read_model(document, DeliverersFile, advice=_ADVICE)
    base = Path(os.path.abspath(path)).parent
    return [_absolute(spec, base) for spec in found.deliverers]


def _absolute(spec: AnySpec, base: Path) -> AnySpec:
    if isinstance(spec, WebhookSpec | EmailSpec) and spec.ca_file is not None:
        return spec.model_copy(update={"ca_file": os.path.abspath(base / spec.ca_file)})
    return spec
