"""`govern`: a LangChain tool or a plain function becomes something that a model may ask for.

    search = govern(TavilySearch(), effect="read", egress=True)
    mail = govern(send_mail, resource=lambda args: f"mailbox:{args['to']}")

The tool stays as it is; who calls the capability goes through policy, approval and ledger. What is
not declared is taken at its worst: IRREVERSIBLE, cannot be asked, sent at most once.
"""

import asyncio
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, TypedDict, Unpack

from langchain_core.tools import BaseTool, ToolException

from checkrein.adapters.function_declaration import (
    DECLARE,
    check_contract,
    check_functions,
    declared_spec,
    declared_terms,
    refused,
)
from checkrein.adapters.function_effect import (
    INJECTED,
    KEY,
    EffectFunctions,
    Find,
    OfArgs,
    Preview,
    ReadVersion,
    Verify,
)
from checkrein.adapters.function_facts import FactSources, declared_facts
from checkrein.adapters.function_signature import FunctionSignature, Signature
from checkrein.adapters.function_target import FunctionCapability
from checkrein.adapters.tool_answer import ToolSaidError, answer_of
from checkrein.adapters.tool_injection import injected_parameters
from checkrein.adapters.tool_signature import ToolSignature
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.errors import CapabilityError
from checkrein.ports.capability import RetryPolicy

Call = Callable[..., Coroutine[Any, Any, Any]]


class Declared(TypedDict, total=False):
    """What may be declared of a tool besides its effect; the words are those of `@capability`."""

    guarantee: Guarantee | str
    lookup: Lookup | str
    version: str
    trust: Trust | str
    key_retention_s: float | None
    max_key_length: int
    timeout_s: float
    independent: bool
    compensates: str | None
    private: bool
    egress: bool
    environment: str | None
    retry: RetryPolicy
    cost: int


def govern(
    tool: BaseTool | Callable[..., Any],
    *,
    effect: SideEffect | str = SideEffect.IRREVERSIBLE,
    name: str | None = None,
    description: str | None = None,
    resource: OfArgs | None = None,
    key: OfArgs | None = None,
    key_argument: str | None = None,
    nothing_done: tuple[type[Exception], ...] = (),
    find: Find | None = None,
    read_version: ReadVersion | None = None,
    preview: Preview | None = None,
    verify: Verify | None = None,
    facts: FactSources | None = None,
    **declared: Unpack[Declared],
) -> FunctionCapability[..., Any]:
    """Make a capability of a LangChain tool (any BaseTool, `@tool`) or of a function.

    Args:
        tool: the tool or function; it may be async or not, and is not changed.
        effect: "read", "reversible" or "irreversible"; a read promises that nothing changes.
        name: as tasks grant it; by default the tool's own name.
        description: what the model is told; by default the tool's own.
        resource, key, find, read_version, preview, verify, facts: as of `@capability`.
        key_argument: the tool's argument that takes the idempotency key. It is filled in from the
            ledger, and no model sees it. A function of yours takes the keyword-only parameter
            `idempotency_key: str` instead.
        nothing_done: exceptions of the tool that prove that nothing happened. After any other one
            nobody knows what became of a write.
        declared: what else `@capability` takes, under the same names.

    Raises:
        InputError: the tool or the declaration cannot be used (code capability_unusable), for
            example since the tool has injected arguments, which nobody fills in here.
    """
    named = name or _name_of(tool)
    functions = EffectFunctions(resource, key, read_version, preview, find, verify)
    check_functions(named, functions)
    given: dict[str, Any] = {
        "side_effect": str(effect).upper(),
        "guarantee": Guarantee.NONE,
        "lookup": Lookup.NONE,
        "trust": Trust.TOOL,
        "description": description,
    }
    _check_words(named, declared)
    terms = declared_terms(named, given | declared, functions)
    writes = terms["side_effect"] is not SideEffect.READ
    signature, call = _reached(tool, named, key_argument, writes=writes)
    if isinstance(tool, BaseTool):
        terms["description"] = terms["description"] or _described(tool, named)
        _say_ignored(tool, named)
    function = _careful(call, tool, named, nothing_done, writes=writes)
    spec = declared_spec(named, function, signature, terms)
    read = declared_facts(named, facts, signature)
    capability = FunctionCapability(function, spec, signature, functions, read)
    check_contract(capability)
    return capability


def _name_of(tool: Any) -> str:
    if isinstance(tool, type):
        raise refused(f"{tool.__name__} is a class. Give govern an instance of it.")
    if isinstance(tool, FunctionCapability):
        raise refused(f"{tool.spec.name} is a capability already. Use it as it is.")
    named = tool.name if isinstance(tool, BaseTool) else getattr(tool, "__name__", None)
    if not isinstance(named, str):
        raise refused(
            f"A {type(tool).__name__} is neither a LangChain tool nor a function. Give govern one "
            "of these."
        )
    if isinstance(tool, BaseTool) and re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", named):
        return named
    if isinstance(tool, BaseTool):
        other = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", named).lower())
        raise refused(
            f"The tool's name {named[:80]!r} is none that a task can grant. Name it anew: "
            f"govern(..., name={other.strip('_')[:64] or 'my_tool'!r})."
        )
    return named


def _described(tool: BaseTool, name: str) -> str:
    if not tool.description.strip():
        raise refused(f"{name} does not say what it does. Add description=...")
    return tool.description.strip()


def _check_words(name: str, declared: Declared) -> None:
    """TypedDicts are checked by tools alone; a misspelt word must not be lost."""
    unknown = sorted(set(declared) - set(Declared.__annotations__))
    if unknown:
        raise refused(
            f"{name}: govern knows no {unknown[0]}=. It takes what @capability takes, with "
            "effect= in place of side_effect=."
        )


def _say_ignored(tool: BaseTool, name: str) -> None:
    if tool.return_direct:
        warnings.warn(
            f"{name}: return_direct is ignored. What a tool returns is data for the model; only "
            "the checks end a task.",
            stacklevel=3,
        )


def _reached(
    tool: BaseTool | Callable[..., Any], name: str, key: str | None, *, writes: bool
) -> tuple[Signature, Call]:
    """The arguments of a tool, and how it is called with them."""
    if key is not None and not writes:
        raise refused(f"{name} is a READ and has a key_argument. A READ has no effect to key.")
    hidden = injected_parameters(tool, name)
    if isinstance(tool, BaseTool):
        _check_injected(name, hidden - {key})
        return ToolSignature(tool, name, hidden, key), functools.partial(_of_tool, tool, key)
    _check_injected(name, hidden)
    if key is not None:
        raise refused(
            f"{name} is a function. In place of key_argument={key!r} give it the keyword-only "
            f"parameter `{KEY}: str`."
        )
    injectable = INJECTED if writes else frozenset[str]()
    return FunctionSignature(tool, name=name, op=DECLARE, injectable=injectable), _async(tool)


def _check_injected(name: str, hidden: frozenset[str | None] | frozenset[str]) -> None:
    if hidden:
        listed = ", ".join(sorted(map(str, hidden)))
        raise refused(
            f"{name} expects injected arguments ({listed}): state, store, runtime or call id of "
            "LangGraph's own tool node, which does not run here. A model must not fill them in "
            "either. Wrap the tool in a function that brings them itself, and govern that."
        )


async def _of_tool(tool: BaseTool, key: str | None, /, **arguments: Any) -> object:
    if key is not None:
        arguments[key] = arguments.pop(KEY)
    # As a tool call, since only then a tool says whether its own handlers hid a failure.
    call = {"type": "tool_call", "id": "governed", "name": tool.name, "args": arguments}
    return await tool.ainvoke(call)


def _async(function: Callable[..., Any]) -> Call:
    if inspect.iscoroutinefunction(function):
        return function

    async def call(**arguments: Any) -> object:
        return await asyncio.to_thread(functools.partial(function, **arguments))

    return call


def _careful(
    call: Call,
    tool: BaseTool | Callable[..., Any],
    name: str,
    nothing_done: tuple[type[Exception], ...],
    *,
    writes: bool,
) -> Call:
    """The call, with its answers as plain data and its failures as what they prove."""

    async def governed(**arguments: Any) -> object:
        op = f"{name}.call"
        try:
            return answer_of(await call(**arguments))
        except CapabilityError:
            raise
        except ToolSaidError as error:
            proved = any(issubclass(ToolException, kind) for kind in nothing_done)
            raise CapabilityError(
                f"{name} answered that it failed.",
                op=op,
                code="tool_failed",
                advice=str(error),
                effect_possible=writes and not proved,
            ) from error
        except nothing_done as error:
            kind = type(error).__name__
            raise CapabilityError(
                f"{name} refused the call: {kind}. Nothing was done.", op=op, code="tool_refused"
            ) from error

    governed.__doc__ = tool.description if isinstance(tool, BaseTool) else inspect.getdoc(tool)
    return governed
