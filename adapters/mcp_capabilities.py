"""Tools of MCP servers as capabilities: declared by the task, pinned as reviewed, called once.

A model is shown what was reviewed. Before anything is asked of a person, and again right before a
call, the server must still be what was reviewed; else the call ends with `mcp_changed`.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from mcp import types

from checkrein.adapters.function_facts import FactSources
from checkrein.adapters.function_target import FunctionCapability
from checkrein.adapters.governed_tool import govern
from checkrein.adapters.mcp_session import McpSession, digest_of_tool
from checkrein.contracts.codec import visible
from checkrein.contracts.effect import Effect, Outcome
from checkrein.contracts.mcp import McpPin, McpReviewed, McpServer, McpTool, capability_name
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import (
    Capability,
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)
from checkrein.ports.secrets import SecretBroker


@asynccontextmanager
async def mcp_capabilities(
    servers: Mapping[str, McpServer], secrets: SecretBroker
) -> AsyncGenerator[list[Capability]]:
    """The capabilities of all servers; a server is reached when one of its tools is first used.

    Raises:
        InputError: a server or tool was not reviewed as the task declares it (mcp_not_reviewed),
            or a declaration cannot be meant (capability_unusable).
    """
    sessions: list[McpSession] = []
    found: list[Capability] = []
    for name, server in servers.items():
        session = McpSession(name, server, secrets)
        sessions.append(session)
        reviewed = _reviewed(name, server)
        for tool, declared in server.tools.items():
            found.append(McpCapability(session, name, server, reviewed, tool, declared))
    try:
        yield found
    finally:
        for session in sessions:
            await session.close()


class McpCapability:
    """One tool of a server: a governed tool that is looked at before it is called."""

    def __init__(
        self,
        session: McpSession,
        name: str,
        server: McpServer,
        reviewed: McpReviewed,
        tool: str,
        declared: McpTool,
    ) -> None:
        """Use `mcp_capabilities`."""
        self._session = session
        self._server_name = name
        self._secrets = server.secrets
        self._reviewed = reviewed
        self._tool = tool
        self._declared = declared
        self._inner = self._governed(reviewed.tools[tool])

    @property
    def spec(self) -> CapabilitySpec:
        """The declared contract; constant."""
        return self._inner.spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The action's own id."""
        return self._inner.idempotency_key(action_id, args)

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the object; the secrets that its server holds are among the facts."""
        described = await self._inner.describe(args)
        facts = described.facts.model_copy(update={"secret_names": self._secrets})
        return described.model_copy(update={"facts": facts})

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Call a tool that only reads, once the server is what was reviewed."""
        await self._check()
        return await self._inner.read(args, constraints)

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Look whether the server is what was reviewed; calls nothing."""
        await self._check()
        return await self._inner.prepare(args, preview=preview)

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Call the tool once, once the server is what was reviewed."""
        await self._check()
        return await self._inner.send(prepared, permit, still_owner)

    async def version(self, resource: str) -> str:
        """Always empty."""
        return await self._inner.version(resource)

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Always None: no server can be asked what became of a call."""
        return await self._inner.lookup(effect)

    def _governed(self, pin: McpPin) -> FunctionCapability[..., Any]:
        declared = self._declared
        name = capability_name(self._server_name, self._tool)
        tool = StructuredTool(
            name=self._tool,
            description=pin.description,
            args_schema=pin.parameters,
            coroutine=self._call,
        )
        return govern(
            tool,
            name=name,
            effect=declared.effect,
            resource=self._resource if declared.resource else None,
            guarantee=declared.guarantee,
            key_argument=declared.key_argument,
            key_retention_s=declared.key_retention_s,
            facts=cast(FactSources | None, declared.facts),
            # The review is a part of the contract: approvals bind name@version.
            version=pin.digest.removeprefix("sha256:")[:12],
            egress=declared.egress,
            private=declared.private,
            environment=declared.environment,
            timeout_s=declared.timeout_s,
            cost=declared.cost,
        )

    def _resource(self, args: dict[str, Any]) -> str:
        named = [args.get(part) for part in self._declared.resource]
        text = json.dumps(named, ensure_ascii=False, separators=(",", ":"))
        return f"{self._inner.spec.name}:{text}"

    async def _call(self, **arguments: Any) -> ToolMessage:
        result = await self._session.call(
            self._tool,
            arguments,
            within_s=self._declared.timeout_s,
            writes=self._declared.effect != "read",
        )
        said = self._session.without_secrets(_content(result))
        status = "error" if result.isError else "success"
        return ToolMessage(said, tool_call_id="governed", status=status)

    async def _check(self) -> None:
        """Refuse a server or a tool that is not what was reviewed.

        Raises:
            CapabilityError: mcp_changed, or the server cannot be asked; nothing was called.
        """
        now = await self._session.offered()
        tool = now.tools.get(self._tool)
        what = ""
        if (now.name, now.version) != (self._reviewed.name, self._reviewed.version):
            what = "calls itself otherwise than"
        elif tool is None:
            what = f"has no tool {self._tool} any more, unlike"
        elif digest_of_tool(tool) != self._reviewed.tools[self._tool].digest:
            what = f"describes the tool {self._tool} otherwise than"
        if what:
            raise CapabilityError(
                f"The MCP server {self._server_name} {what} when it was reviewed.",
                op="mcp.check",
                code="mcp_changed",
                advice=f"{self._inner.spec.name} has changed since it was reviewed, and nothing "
                "was called. It is not available until a person reviews it anew "
                "(checkrein mcp pin). Reach the goal another way.",
            )


def _reviewed(name: str, server: McpServer) -> McpReviewed:
    reviewed = server.reviewed
    why = ""
    if reviewed is None:
        why = "was never reviewed"
    elif reviewed.reached != server.reached:
        why = "was reviewed under another command or address"
    elif missing := sorted(set(server.tools) - set(reviewed.tools)):
        why = f"was reviewed without its tool {missing[0]}"
    if why or reviewed is None:
        raise InputError(
            f"The MCP server {name} {why}. Run `checkrein mcp pin TASK`, which shows what it "
            "says of itself and writes mcp.lock.json beside the task file.",
            op="mcp.open",
            code="mcp_not_reviewed",
        )
    return reviewed


def _content(result: types.CallToolResult) -> list[str | dict[str, Any]]:
    """The blocks of a result; structured content only where there are none."""
    blocks: list[str | dict[str, Any]] = [
        block.model_dump(mode="json", exclude_none=True, exclude={"meta", "annotations"})
        for block in result.content
    ]
    if not blocks and result.structuredContent is not None:
        blocks = [visible(json.dumps(result.structuredContent, ensure_ascii=False))]
    return blocks
