"""Models and verifiers are exchanged for others, and the loop stays what it is."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.runnables import Runnable
from loops import DONE, call, contract, says, types

from checkrein.compose import Given, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.harness import Harness
from checkrein.settings import Settings

WRITE = call("workspace.write_file", path="a.txt", content="two\n")
COMMAND = [{"command": {"argv": ["grep", "-q", "two", "a.txt"]}}]
UNCHANGED = [{"unchanged": ["b.txt"]}]


class OtherModel(GenericFakeChatModel):
    """A chat model of LangChain's, as a provider's package would bring one; it takes tools."""

    def bind_tools(
        self, tools: Any, *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools)


def other() -> BaseChatModel:
    """A model that says what the script says."""
    write = ToolCall(type="tool_call", name="workspace_write_file", args=WRITE["args"], id="c1")
    messages = [AIMessage("", tool_calls=[write]), AIMessage("It is done.")]
    return OtherModel(messages=iter(messages))


@pytest.mark.shows(22)
async def test_another_model_and_another_verifier_make_the_same_run(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: nothing of the loop knows who proposes and who judges."""
    found: list[list[str]] = []
    for number, (model, success) in enumerate(
        [(None, COMMAND), (other(), COMMAND), (None, UNCHANGED), (other(), UNCHANGED)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        task = contract(
            folder,
            [says("", WRITE), DONE],
            files={"a.txt": "one\n", "b.txt": "b\n"},
            success=success,
            **({} if model is None else {"model": None}),
        )
        async with composed(settings, Given(model=model)) as parts:
            report = await Harness(parts).run(task)
            assert report.status is AttemptStatus.CANDIDATE_VERIFIED
            assert report.effects == {"COMMITTED": 1}
            attempt = (await parts.records.position(report.attempt_id)).attempt
            assert attempt.model.startswith("scripted:") == (model is None)
            kinds = await types(parts, report.attempt_id)
            # Where commands run is on record only where a verifier runs any.
            found.append([kind for kind in kinds if kind != "environment_chosen"])
    assert found[1:] == found[:1] * 3
