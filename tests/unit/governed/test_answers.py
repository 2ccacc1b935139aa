"""What governed tools answer, and what becomes of their failures."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.types import Command
from permits import send

from checkrein import govern
from checkrein.adapters.function_result import MAX_RESULT_BYTES
from checkrein.contracts.effect import EffectStatus
from checkrein.errors import CapabilityError


def soothing(error: ToolException) -> str:
    """A handler of an author who wants no failures."""
    return "all is well"


def failing(error: Exception, **handlers: Any) -> BaseTool:
    def fail() -> str:
        raise error

    return StructuredTool.from_function(fail, name="fail", description="Fail.", **handlers)


@pytest.mark.parametrize("handler", [False, True, "all is well", soothing])
@pytest.mark.parametrize("error", [ToolException("no"), ValueError("secret"), TimeoutError()])
async def test_a_failed_write_is_unknown_whatever_handles_its_error(
    error: Exception, handler: Any
) -> None:
    """handle_tool_error makes words of an exception; it must not make a success of it."""
    outcome = await send(govern(failing(error, handle_tool_error=handler)), {})
    assert outcome.status is EffectStatus.UNKNOWN_EFFECT
    assert "secret" not in outcome.model_dump_json()


async def test_exceptions_that_prove_that_nothing_was_done() -> None:
    """Only the declaration can say so; then the write is refused and not in doubt."""
    for handler in (False, True):
        one = govern(failing(ToolException(), handle_tool_error=handler), nothing_done=(Exception,))
        with pytest.raises(CapabilityError) as caught:
            await send(one, {})
        assert not caught.value.effect_possible


async def test_a_failed_read_is_an_error_in_the_tools_own_words() -> None:
    """What an author wrote for the model reaches it as an error, bounded; nothing else does."""
    one = govern(failing(ToolException("x" * 5000), handle_tool_error=True), effect="read")
    with pytest.raises(CapabilityError) as caught:
        await one.read({}, {})
    assert caught.value.code == "tool_failed"
    assert 500 < len(caught.value.advice or "") < 1500
    with pytest.raises(CapabilityError) as caught:
        await govern(failing(ValueError("secret")), effect="read").read({}, {})
    assert "secret" not in str(caught.value)


IMAGE = {"type": "image", "base64": "QUJD" * 100, "mime_type": "image/png"}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("text", {"text": "text"}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"text": "a\nb"}),
        (ToolMessage("said", tool_call_id="x"), {"text": "said"}),
        (
            Command(update={"messages": [ToolMessage("said", tool_call_id="x")]}),
            {"parts": ["said"]},
        ),
    ],
)
async def test_answers_become_plain_data(answer: Any, result: dict[str, Any]) -> None:
    """Each form of an answer that LangChain knows is one bounded result."""

    def give() -> Any:
        """Give."""
        return answer

    made = StructuredTool.from_function(give)
    assert (await govern(made, effect="read").read({}, {})).result == result
    assert (await govern(give, effect="read").read({}, {})).result == result


async def test_a_command_changes_no_state_and_routes_nothing() -> None:
    """What it asks for besides its messages is named, so that nobody takes it for done."""

    def give() -> Command[Any]:
        """Give."""
        return Command(update={"role": "admin"}, goto="elsewhere")

    result = (await govern(give, effect="read").read({}, {})).result
    assert result["ignored"] == ["update role", "goto"]
    assert "admin" not in str(result)


async def test_artifacts_and_bytes_are_kept_from_the_model() -> None:
    """An artifact is for programs, and nobody reads the bytes of an image as text."""

    def give() -> tuple[Any, Any]:
        """Give."""
        return [IMAGE, {"type": "text", "text": "seen"}], {"internal": 1}

    made = StructuredTool.from_function(give, response_format="content_and_artifact")
    result = (await govern(made, effect="read").read({}, {})).result
    assert "internal" not in str(result)
    assert "QUJDQUJD" not in str(result)
    assert result["content"][0]["base64"]["left_out"] == 400
    assert result["content"][1] == "seen"


async def test_a_tool_message_that_says_error_is_no_success() -> None:
    """A tool may answer by a message with status error instead of raising."""

    def give() -> ToolMessage:
        """Give."""
        return ToolMessage("no such order", tool_call_id="x", status="error")

    assert (await send(govern(give), {})).status is EffectStatus.UNKNOWN_EFFECT


async def test_results_are_bounded() -> None:
    """A tool that returns a book does not fill the model's context."""

    def give() -> str:
        """Give."""
        return "x" * 500_000

    found = await govern(StructuredTool.from_function(give), effect="read").read({}, {})
    assert found.truncated
    assert len(str(found.result)) < MAX_RESULT_BYTES


def test_return_direct_is_ignored_aloud() -> None:
    """It would end a run by a tool's word; only the checks end a task."""
    direct = StructuredTool.from_function(
        lambda: "x", name="direct", description="Direct.", return_direct=True
    )
    with pytest.warns(UserWarning, match="return_direct is ignored"):
        govern(direct)


async def test_a_sync_tool_does_not_hold_up_the_loop() -> None:
    """A blocking tool of somebody else must not freeze leases and time limits."""

    def wait() -> str:
        """Wait."""
        asyncio.run(asyncio.sleep(0.2))
        return "over"

    reading = asyncio.create_task(govern(wait, effect="read").read({}, {}))
    await asyncio.sleep(0.05)
    assert not reading.done()
    assert (await reading).result == {"text": "over"}
