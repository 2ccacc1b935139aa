"""From a model string to a Model: `scripted:FILE`, or what LangChain's init_chat_model knows."""

import asyncio
import importlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from checkrein.adapters.chat_model import DEFAULT_MAX_OUTPUT_TOKENS, ChatModel
from checkrein.errors import InputError

_SCRIPTED = "scripted:"
_OP = "model.open"
_KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "azure_openai": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google_genai": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistralai": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Environment variables, one of which must hold the key of a provider."""

OpenScript = Callable[[Path], BaseChatModel]
"""Opens a script file as a chat model; raises InputError for an unusable one."""


async def open_model(spec: str, *, base: Path, open_script: OpenScript) -> ChatModel:
    """Open the model that a task names.

    Args:
        spec: `scripted:FILE`, or `provider:model` as init_chat_model takes it.
        base: the folder that FILE is relative to.
        open_script: opens a script, for example ScriptedChatModel.load.

    Raises:
        InputError: the script cannot be used; the extra `checkrein[models]`, a provider's package
            or its API key is missing; or the string names no model.
    """
    if spec.startswith(_SCRIPTED):
        file = spec.removeprefix(_SCRIPTED).strip()
        if not file:
            raise _refused(spec, "names no script. Write scripted:FILE")
        return ChatModel(await asyncio.to_thread(open_script, base / file), name=spec)
    if not spec.strip():
        # LangChain takes an empty string for a model that is named later.
        raise _refused(spec, _unknown("empty"))
    llm = await asyncio.to_thread(_init, spec)
    return ChatModel(llm, name=spec)


def _init(spec: str) -> BaseChatModel:
    try:
        # Named by text, since the package is an extra and takes long to load.
        langchain: Any = importlib.import_module("langchain.chat_models")
    except ImportError as error:
        raise _refused(
            spec, "needs LangChain, which is not installed. Run: pip install 'checkrein[models]'"
        ) from error
    provider = spec.partition(":")[0] if ":" in spec else ""
    try:
        # No tries of its own: the harness tries again, and records each one.
        llm: BaseChatModel = langchain.init_chat_model(
            spec, max_tokens=DEFAULT_MAX_OUTPUT_TOKENS, max_retries=0
        )
    except ImportError as error:
        package = _package(error, provider)
        problem = f"needs the package {package}. Run: pip install {package}"
        raise _refused(spec, problem) from error
    except Exception as error:
        # The text of the exception may hold a key, so that only its type is told.
        kind = type(error).__name__
        raise _refused(spec, _missing_key(provider) or _unknown(kind)) from error
    missing = _missing_key(provider)
    if missing:
        raise _refused(spec, missing)
    return llm


def _package(error: ImportError, provider: str) -> str:
    """The package to install, as LangChain names it, else by its naming habit."""
    match = re.search(r"pip install (?:-U )?([A-Za-z0-9_.\-]+)", str(error))
    return match[1] if match else f"langchain-{provider.replace('_', '-')}"


def _missing_key(provider: str) -> str | None:
    names = _KEYS.get(provider, ())
    if not names or any(os.environ.get(name) for name in names):
        return None
    return f"needs an API key. Set it: export {names[0]}=..."


def _unknown(kind: str) -> str:
    return (
        f"cannot be opened ({kind}). Write provider:model, for example openai:gpt-5, "
        "or scripted:FILE, and check the provider's settings"
    )


def _refused(spec: str, problem: str) -> InputError:
    return InputError(
        f"The model {spec!r} {problem}.",
        op=_OP,
        code="model_unusable",
        context={"model": spec},
    )
