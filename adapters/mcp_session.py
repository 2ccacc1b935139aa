"""One MCP server for one attempt: opened when first needed, looked at again before every call.

The session lives in a task of its own, so that a server that breaks it breaks no run.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import anyio
import httpx
from mcp import ClientSession, McpError, types
from pydantic import SecretStr, ValidationError

from checkrein.adapters.masking import Masking
from checkrein.adapters.mcp_process import program_streams
from checkrein.adapters.mcp_web import web_session
from checkrein.contracts.codec import digest_of
from checkrein.contracts.display import short
from checkrein.contracts.mcp import McpServer
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.ports.secrets import MAX_TTL_S, SecretBroker

MAX_TOOLS = 1_000
"""Most tools that a server may list."""

_MAX_PAGES = 50
_GONE = (McpError, OSError, EOFError, httpx.HTTPError, anyio.ClosedResourceError)
_GONE_TOO = (anyio.BrokenResourceError, ExceptionGroup)
_OP = "mcp.call"


class Offered(NamedTuple):
    """What a server says now."""

    name: str
    version: str
    tools: Mapping[str, types.Tool]


class McpSession:
    """Reaches one server. `close` ends it and, where it is a program, its whole tree."""

    def __init__(self, server_name: str, server: McpServer, secrets: SecretBroker) -> None:
        """Nothing is started yet."""
        self._name = server_name
        self._server = server
        self._secrets = secrets
        self._open: asyncio.Future[tuple[ClientSession, types.InitializeResult]] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._lock = asyncio.Lock()
        self._masking = Masking({})

    async def offered(self) -> Offered:
        """What the server calls itself, and all tools that it lists now.

        Raises:
            CapabilityError: mcp_unavailable, mcp_not_in_time or mcp_garbage; nothing was called.
        """
        cause: Exception
        try:
            async with asyncio.timeout(self._server.connect_s):
                session, about = await self._opened()
                tools = await _listed(session)
        except TimeoutError as error:
            failure, cause = self._failed("mcp_not_in_time", "did not answer in time"), error
        except (ValidationError, _GarbageError) as error:
            failure, cause = self._failed("mcp_garbage", "answered what is no MCP"), error
        except EnvironmentFault as error:
            failure, cause = CapabilityError(str(error), op=_OP, code=error.code), error
        except (*_GONE, *_GONE_TOO) as error:
            failure, cause = self._failed("mcp_unavailable", "cannot be reached", error), error
        else:
            return self._offer(about, tools)
        # What failed once is not asked again: the next call opens it anew.
        await self.close()
        raise failure from cause

    def _offer(self, about: types.InitializeResult, tools: list[types.Tool]) -> Offered:
        if len({tool.name for tool in tools}) != len(tools):
            raise self._failed("mcp_garbage", "lists a tool twice")
        who = about.serverInfo
        return Offered(who.name, who.version, {tool.name: tool for tool in tools})

    async def call(
        self, tool: str, arguments: dict[str, Any], *, within_s: float, writes: bool
    ) -> types.CallToolResult:
        """Call a tool once; whatever goes wrong from here on leaves a write in doubt.

        Raises:
            CapabilityError: mcp_unavailable, mcp_not_in_time, mcp_garbage or mcp_refused.
        """
        if self._open is None or self._owner is None or self._owner.done():
            # A new one would be another than the one that was just looked at.
            raise self._failed("mcp_unavailable", "went away before the call")
        session, _ = await asyncio.shield(self._open)
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        # Not session.call_tool: that one judges results by schemas of the server's own making.
        request = types.ClientRequest(types.CallToolRequest(params=params))
        limit = timedelta(seconds=within_s)
        try:
            return await session.send_request(request, types.CallToolResult, limit)
        except McpError as error:
            code, words = _meaning(error)
            raise self._failed(code, words, error, writes=writes) from error
        except ValidationError as error:
            said = "answered what is no MCP"
            raise self._failed("mcp_garbage", said, error, writes=writes) from error
        except Exception as error:
            said = "went away during the call"
            raise self._failed("mcp_unavailable", said, error, writes=writes) from error

    def without_secrets(self, value: Any) -> Any:
        """What a server said, without what it was lent."""
        return self._masking.value(value)

    async def close(self) -> None:
        """End the session and the server's program."""
        owner, opened = self._owner, self._open
        self._over.set()
        if owner is None:
            return
        if opened is not None and not opened.done():
            owner.cancel()
        await asyncio.gather(owner, return_exceptions=True)

    async def _opened(self) -> tuple[ClientSession, types.InitializeResult]:
        """The session; a new one where there is none, or the last one broke."""
        async with self._lock:
            if self._owner is None or self._owner.done():
                self._over = asyncio.Event()
                self._open = asyncio.get_running_loop().create_future()
                self._owner = asyncio.create_task(self._own(self._open, self._over))
            opened = self._open
        assert opened is not None
        # Whoever waits may be cancelled; the session is not theirs to break.
        return await asyncio.shield(opened)

    async def _own(
        self,
        opened: "asyncio.Future[tuple[ClientSession, types.InitializeResult]]",
        over: asyncio.Event,
    ) -> None:
        """Hold a session open until it is closed or breaks."""
        try:
            async with self._session(over) as session:
                about = await session.initialize()
                opened.set_result((session, about))
                await over.wait()
        except BaseException as error:
            if opened.done():
                return  # calls that wait are told by the session itself
            opened.set_exception(error if isinstance(error, Exception) else EOFError("cancelled"))
            opened.exception()  # it is read by whoever still waits; nobody may

    @asynccontextmanager
    async def _session(self, over: asyncio.Event) -> AsyncGenerator[ClientSession]:
        lent = await self._lent()
        self._masking = Masking(lent)
        server = self._server
        if server.url is not None:
            headers = {key: lent[name].get_secret_value() for key, name in server.headers.items()}
            longest = max(tool.timeout_s for tool in server.tools.values())
            async with web_session(server.url, headers, server.connect_s, longest) as session:
                yield session
            return
        assert server.command is not None
        env = {key: lent[name].get_secret_value() for key, name in server.env.items()}
        async with (
            program_streams(server.command, server.args, env, server.folder, over.set) as (
                read,
                write,
            ),
            ClientSession(read, write) as session,
        ):
            yield session

    async def _lent(self) -> dict[str, SecretStr]:
        """The secrets that the server is handed, read anew at each start."""
        values: dict[str, SecretStr] = {}
        for name in self._server.secrets:
            purpose = f"MCP server {self._name}"
            lease = await self._secrets.lease(
                name, purpose=purpose, action_id=purpose, ttl_s=MAX_TTL_S
            )
            values[name] = lease.value
        return values

    def _failed(
        self, code: str, what: str, error: Exception | None = None, *, writes: bool = False
    ) -> CapabilityError:
        kind = "" if error is None else f" ({type(error).__name__})"
        told = f"The MCP server {self._name} {what}{kind}."
        done = " What became of the call is unknown." if writes else " Nothing was called."
        return CapabilityError(
            told, op=_OP, code=code, effect_possible=writes, advice=told + (done if writes else "")
        )


class _GarbageError(Exception):
    """A server's list has no end."""


async def _listed(session: ClientSession) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        cursor = page.nextCursor
        if not cursor or len(tools) > MAX_TOOLS:
            break
    if cursor or len(tools) > MAX_TOOLS:
        raise _GarbageError
    return tools


def _meaning(error: McpError) -> tuple[str, str]:
    if error.error.code == types.CONNECTION_CLOSED:
        return "mcp_unavailable", "went away during the call"
    if error.error.code == int(httpx.codes.REQUEST_TIMEOUT):
        return "mcp_not_in_time", "did not answer in time"
    return "mcp_refused", f"answered with an error: {short(error.error.message, 300)}"


def digest_of_tool(tool: types.Tool) -> str:
    """What a review of a tool binds: its name, words and schemas, as the server says them."""
    said = tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "icons"})
    return digest_of(said)
