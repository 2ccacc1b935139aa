"""MCP servers of a task: how each is reached, which tools it may bring, and what was reviewed.

The server's own words about its tools (descriptions, annotations) decide nothing here.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from checkrein.contracts.check import SecretName
from checkrein.contracts.codec import Frozen, digest_of

McpName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=24)]
"""A server, as the names of its capabilities hold it."""

McpToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_./-]+$", max_length=128)]
"""A tool, as its server calls it."""

Plain = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00${}]*$")]
"""A text in which nothing is filled in: a `$` or a brace would be taken for a variable."""

_HEADER = r"^[A-Za-z0-9-]{1,64}$"
_VARIABLE = r"^[A-Z_][A-Z0-9_]{0,63}$"


class McpPin(Frozen):
    """One tool as it was reviewed.

    Attributes:
        description, parameters: what models are shown, the server's text bounded.
        digest: over name, description and schema exactly as the server said them.
        hints: the server's annotations. They are claims: nothing is decided by them.
    """

    description: str = Field(max_length=4096)
    parameters: dict[str, Any]
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    hints: dict[str, bool] = Field(default_factory=dict[str, bool])


class McpReviewed(Frozen):
    """One server as it was reviewed.

    Attributes:
        name, version: what it called itself when it was asked.
        reached: digest of the command or the address by which it was.
    """

    name: str = Field(max_length=256)
    version: str = Field(max_length=256)
    reached: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    tools: dict[McpToolName, McpPin] = Field(max_length=128)


class McpTool(Frozen):
    """What the task's author declares of one tool; what is not declared is the worst case.

    Attributes:
        effect: a read promises that nothing changes.
        resource: names of arguments that name the object.
        key_argument: the argument that takes the idempotency key; no model sees it.
        facts: as of `@capability`, which arguments policies judge.
    """

    effect: Literal["read", "reversible", "irreversible"] = "irreversible"
    resource: list[str] = Field(default_factory=list[str], max_length=8)
    guarantee: Literal["none", "atomic_key"] = "none"
    key_argument: str | None = Field(default=None, min_length=1, max_length=128)
    key_retention_s: float | None = Field(default=None, gt=0)
    facts: dict[str, str | list[str]] | None = None
    egress: bool = True
    private: bool = False
    environment: str | None = Field(default=None, max_length=64)
    timeout_s: float = Field(default=60.0, gt=0, le=3600)
    cost: int = Field(default=0, ge=0, le=10**9)


class McpServer(Frozen):
    """One server: a program that is started for the attempt, or an address.

    Attributes:
        command, args: the program and its words; no shell, nothing is filled in.
        env: variable to the name of a secret; nothing else of our environment is handed on.
        url: of the streamable HTTP transport.
        headers: header to the name of a secret.
        tools: all that may be used of it.
        folder: where the program runs; the loader sets it to the task file's folder.
        connect_s: the longest that its start and its list of tools may take.
        reviewed: written by `checkrein mcp pin` into mcp.lock.json beside the task file.
    """

    command: Plain | None = Field(default=None, min_length=1)
    args: list[Plain] = Field(default_factory=list[str], max_length=128)
    env: dict[Annotated[str, Field(pattern=_VARIABLE)], SecretName] = Field(
        default_factory=dict[str, str], max_length=32
    )
    url: Annotated[str, Field(pattern=r"^https?://[^\s@]+$", max_length=2048)] | None = None
    headers: dict[Annotated[str, Field(pattern=_HEADER)], SecretName] = Field(
        default_factory=dict[str, str], max_length=32
    )
    tools: dict[McpToolName, McpTool] = Field(min_length=1, max_length=128)
    folder: str | None = Field(default=None, max_length=4096)
    connect_s: float = Field(default=20.0, gt=0, le=600)
    reviewed: McpReviewed | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a command or a url")
        if self.url is not None and (self.args or self.env):
            raise ValueError("args and env are for a server with a command; a url has headers")
        if self.command is not None and self.headers:
            raise ValueError("headers are for a server with a url; a command has env")
        names = list(map(capability_part, self.tools))
        if len(set(names)) != len(names):
            raise ValueError("two of its tools become one name of a capability; drop one of them")
        return self

    @property
    def reached(self) -> str:
        """Digest of how it is reached, the names of secrets among it."""
        kept = {"command", "args", "env", "url", "headers"}
        return digest_of(self.model_dump(mode="json", include=kept))

    @property
    def secrets(self) -> list[str]:
        """The secrets that it is handed, sorted."""
        return sorted({*self.env.values(), *self.headers.values()})


def capability_part(tool: str) -> str:
    """A tool's name in the form of a capability: createIssue is create_issue."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool).lower()
    name = re.sub(r"[^a-z0-9]+", "_", parted).strip("_")
    return name if name[:1].isalpha() else f"t_{name}"


def capability_name(server: str, tool: str) -> str:
    """The capability that a tool of a server is."""
    return f"mcp.{server}.{capability_part(tool)}"
