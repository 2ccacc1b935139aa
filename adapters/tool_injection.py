"""Which parameters of a LangChain tool are meant to be injected, never to be filled by a model."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel

from checkrein.adapters.function_declaration import refused

OWN = frozenset({"run_manager", "callbacks", "config"})
"""What LangChain itself fills in by name."""


def injected_parameters(tool: BaseTool | Callable[..., Any], name: str) -> frozenset[str]:
    """The parameters that carry InjectedToolArg (state, store, call id among it) or a ToolRuntime.

    Those with the default None are left out: their authors say that a tool works without.

    Raises:
        InputError: the type of a parameter cannot be read, so that nobody knows.
    """
    if not isinstance(tool, BaseTool):
        return _of_function(tool, name)
    schema: Any = tool.args_schema
    found = _of_model(schema) if isinstance(schema, type) else set[str]()
    for function in _functions(tool):
        found |= _of_function(function, name)
    return frozenset(found)


def _functions(tool: BaseTool) -> Iterable[Callable[..., Any]]:
    wrapped = [getattr(tool, "func", None), getattr(tool, "coroutine", None)]
    named = [function for function in wrapped if function is not None]
    return named or [tool._run, tool._arun]  # pyright: ignore[reportPrivateUsage] # a subclass's body


def _of_model(schema: type) -> set[str]:
    if not issubclass(schema, BaseModel):
        return set()
    return {
        name
        for name, field in schema.model_fields.items()
        if (_marks(field.metadata) or _is_runtime(field.annotation))
        and field.get_default() is not None
    }


def _of_function(function: Callable[..., Any], name: str) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise refused(
            f"{name}: the types of its parameters cannot be read: {error}. Import them where the "
            "function is defined, so that it is known which of them a model may fill in."
        ) from error
    return frozenset(
        key
        for key, hint in hints.items()
        if key in parameters and parameters[key].default is not None and _injected(hint)
    )


def _injected(hint: Any) -> bool:
    return _is_runtime(hint) or _marks(get_args(hint)[1:]) or any(map(_injected, get_args(hint)))


def _marks(marks: Iterable[Any]) -> bool:
    return any(
        isinstance(mark, InjectedToolArg)
        or (isinstance(mark, type) and issubclass(mark, InjectedToolArg))
        for mark in marks
    )


def _is_runtime(hint: Any) -> bool:
    kind: Any = get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, ToolRuntime)
