"""From a model string to a model, and one clear refusal where something is missing."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from checkrein.adapters.open_model import open_model
from checkrein.errors import InputError
from checkrein.testing.scripted_model import ScriptedChatModel

SCRIPT = "version: 1\nturns:\n  - text: a\n    usage: {input_tokens: 1, output_tokens: 1}\n"


async def refused(spec: str, base: Path) -> str:
    with pytest.raises(InputError) as caught:
        await open_model(spec, base=base, open_script=ScriptedChatModel.load)
    assert caught.value.op == "model.open"
    return str(caught.value)


def install(monkeypatch: pytest.MonkeyPatch, outcome: object) -> list[dict[str, Any]]:
    """Put a stand-in for langchain.chat_models in place; returns what it was called with."""
    calls: list[dict[str, Any]] = []

    def init_chat_model(model: str, **kwargs: Any) -> object:
        calls.append({"model": model, **kwargs})
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    module = types.ModuleType("langchain.chat_models")
    module.__dict__["init_chat_model"] = init_chat_model
    monkeypatch.setitem(sys.modules, "langchain.chat_models", module)
    return calls


async def test_script_is_relative_to_the_base(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCRIPT, encoding="utf-8")
    model = await open_model("scripted:s.yaml", base=tmp_path, open_script=ScriptedChatModel.load)
    assert model.name == "scripted:s.yaml"
    absolute = f"scripted:{tmp_path / 's.yaml'}"
    other = await open_model(absolute, base=Path("/"), open_script=ScriptedChatModel.load)
    assert other.name == absolute


async def test_script_that_is_named_or_written_badly_is_refused(tmp_path: Path) -> None:
    assert "names no script. Write scripted:FILE" in await refused("scripted:", tmp_path)
    with pytest.raises(InputError, match=r"s\.yaml does not exist"):
        await open_model("scripted:s.yaml", base=tmp_path, open_script=ScriptedChatModel.load)


async def test_other_strings_go_to_langchain_without_tries_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    calls = install(monkeypatch, FakeListChatModel(responses=["a"]))
    model = await open_model("openai:gpt-5", base=tmp_path, open_script=ScriptedChatModel.load)
    assert model.name == "openai:gpt-5"
    assert calls == [{"model": "openai:gpt-5", "max_tokens": 4096, "max_retries": 0}]


async def test_missing_langchain_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    assert "pip install 'checkrein[models]'" in await refused("openai:gpt-5", tmp_path)


async def test_missing_provider_package_is_named(tmp_path: Path) -> None:
    told = await refused("openai:gpt-5", tmp_path)
    assert "needs the package langchain-openai. Run: pip install langchain-openai" in told


@pytest.mark.parametrize("outcome", [FakeListChatModel(responses=["a"]), RuntimeError("no key")])
async def test_missing_key_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: object
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    install(monkeypatch, outcome)
    told = await refused("openai:gpt-5", tmp_path)
    assert "needs an API key. Set it: export OPENAI_API_KEY=..." in told


async def test_unknown_strings_say_what_to_write(tmp_path: Path) -> None:
    for spec in ("nobody:x", "???", ""):
        told = await refused(spec, tmp_path)
        assert "Write provider:model, for example openai:gpt-5, or scripted:FILE" in told


async def test_text_of_a_failed_opening_is_not_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, RuntimeError("the key s3cr3t is wrong"))
    assert "s3cr3t" not in await refused("ollama:x", tmp_path)
