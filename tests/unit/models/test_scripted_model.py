"""The scripted model: strict about its script, told its turn, counted across processes."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langchain import agents
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from checkrein.errors import InputError, ModelError
from checkrein.testing.scripted_model import TURN, Script, ScriptedChatModel

USAGE = {"input_tokens": 3, "output_tokens": 2}
SCRIPT = """\
version: 1
turns:
  - text: first
    calls: [{name: add, args: {a: 1, b: 2}}]
    usage: {input_tokens: 3, output_tokens: 2}
  - text: second
    usage: {input_tokens: 5, output_tokens: 1}
    stop: length
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def model_of(*turns: dict[str, Any]) -> ScriptedChatModel:
    script = {"version": 1, "turns": [{"usage": USAGE} | turn for turn in turns]}
    return ScriptedChatModel(script=Script.model_validate(script))


async def test_turn_is_told_and_never_counted(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    for turn, text in ((2, "second"), (1, "first"), (1, "first"), (2, "second")):
        answer = await model.ainvoke("hi", {"metadata": {TURN: turn}})
        assert answer.content == text


async def test_without_a_told_turn_it_counts_its_own_calls(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    bound = model.bind_tools([])
    assert (await model.ainvoke("hi")).content == "first"
    assert (await bound.ainvoke("hi")).content == "second"
    assert (await ScriptedChatModel.load(file).ainvoke("hi")).content == "first"


async def test_answer_holds_usage_calls_and_stop(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    first = await model.ainvoke("hi")
    second = await model.ainvoke("hi")
    assert isinstance(first, AIMessage)
    assert isinstance(second, AIMessage)
    assert first.usage_metadata == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    (call,) = first.tool_calls
    assert (call["name"], call["args"], call["id"]) == ("add", {"a": 1, "b": 2}, "call_1_1")
    assert first.response_metadata["finish_reason"] == "tool_calls"
    assert second.response_metadata["finish_reason"] == "length"


async def test_beyond_the_end_is_a_lasting_model_error(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    for turn in (3, 0, -1):
        with pytest.raises(ModelError, match="has 2 turns, and turn") as caught:
            await model.ainvoke("hi", {"metadata": {TURN: turn}})
        assert caught.value.code == "script_exhausted"
        assert not caught.value.retryable


def test_leftover_turns_are_noted(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    assert model.closing_note(2) is None
    assert model.closing_note(3) is None
    note = model.closing_note(1)
    assert note is not None
    assert note.endswith("has 2 turns and only 1 were asked for; turns 2 to 2 are left over.")


async def test_arguments_that_are_no_object_make_an_invalid_call() -> None:
    calls = [{"name": "a", "args": text} for text in ('{"x": 1}', '{"x": ', "[1]", "[" * 100_000)]
    answer = await model_of({"calls": calls}).ainvoke("hi")
    assert isinstance(answer, AIMessage)
    assert [call["args"] for call in answer.tool_calls] == [{"x": 1}]
    ids = [call["id"] for call in answer.invalid_tool_calls]
    assert ids == ["call_1_2", "call_1_3", "call_1_4"]
    assert all(call["error"] for call in answer.invalid_tool_calls)


async def test_a_caller_that_changes_arguments_does_not_change_the_script() -> None:
    model = model_of({"calls": [{"name": "a", "args": {"x": [1]}}]})
    answer = await model.ainvoke("hi", {"metadata": {TURN: 1}})
    assert isinstance(answer, AIMessage)
    answer.tool_calls[0]["args"]["x"].append(2)
    again = await model.ainvoke("hi", {"metadata": {TURN: 1}})
    assert isinstance(again, AIMessage)
    assert again.tool_calls[0]["args"] == {"x": [1]}


async def test_a_global_cache_of_langchain_is_passed_by(file: Path) -> None:
    set_llm_cache(InMemoryCache())
    try:
        model = ScriptedChatModel.load(file)
        assert [(await model.ainvoke("hi")).content for _ in range(2)] == ["first", "second"]
    finally:
        set_llm_cache(None)


async def test_delay_does_not_hold_others_up() -> None:
    model = model_of({"delay_s": 0.2}, {"delay_s": 0.2})
    began = time.perf_counter()
    await asyncio.gather(model.ainvoke("hi"), model.ainvoke("hi"))
    assert 0.2 <= time.perf_counter() - began < 0.39


def test_sync_calls_answer_the_same(file: Path) -> None:
    model = ScriptedChatModel.load(file)
    assert model.invoke("hi", {"metadata": {TURN: 2}}).content == "second"
    with pytest.raises(ModelError):
        model.invoke("hi", {"metadata": {TURN: 9}})


def test_calls_are_counted_across_processes(file: Path) -> None:
    file.write_text(SCRIPT.replace("version: 1", "version: 1\ncalls_log: calls.log"), "utf-8")
    code = (
        "import sys; from pathlib import Path\n"
        "from checkrein.testing.scripted_model import TURN, ScriptedChatModel\n"
        "model = ScriptedChatModel.load(Path(sys.argv[1]))\n"
        "model.invoke('hi', {'metadata': {TURN: 1}})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
    model = ScriptedChatModel.load(file)
    asyncio.run(model.ainvoke("hi", {"metadata": {TURN: 2}}))
    with pytest.raises(ModelError):
        model.invoke("hi", {"metadata": {TURN: 3}})
    log = (file.parent / "calls.log").read_text(encoding="utf-8")
    assert log == "turn 1\nturn 2\nturn 3\n"


def test_log_that_cannot_be_written_is_an_error(file: Path) -> None:
    text = SCRIPT.replace("version: 1", "version: 1\ncalls_log: none/calls.log")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"calls\.log cannot be written: No such file"):
        ScriptedChatModel.load(file).invoke("hi")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 1", "version: 2", "1:1: version: must be 1, not 2"),
        ("turns:", "trns:", "2:1: trns: is no known field; did you mean 'turns'?"),
        ("text: first", "txt: first", "3:5: turns[0].txt: is no known field; did you mean 'text'?"),
        ("text: first", "text: 7", "3:5: turns[0].text: must be text"),
        ("usage: {input_tokens: 5, output_tokens: 1}", "", "turns[1].usage: is missing"),
        ("output_tokens: 1", "output_tokens: -1", "turns[1].usage.output_tokens: must be at least"),
        ("output_tokens: 1", "output_tokens: '1'", 'must be a whole number, not "1"'),
        ("args: {a: 1, b: 2}", "args: [1]", "turns[0].calls[0].args: must be a mapping"),
        ("name: add", "name: ''", "turns[0].calls[0].name: must not be empty"),
        ("stop: length", "delay_s: -1", "turns[1].delay_s: must be at least 0"),
        ("stop: length", "stop: [", "not valid YAML"),
    ],
)
def test_fault_of_a_script_is_named_with_its_place(
    file: Path, old: str, new: str, message: str
) -> None:
    assert old in SCRIPT
    file.write_text(SCRIPT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        ScriptedChatModel.load(file)
    assert str(caught.value).startswith(f"{file}:")
    assert message in str(caught.value)


def test_missing_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The script .*none\.yaml does not exist"):
        ScriptedChatModel.load(tmp_path / "none.yaml")


def test_script_may_be_json_and_hold_any_text(file: Path) -> None:
    odd = "\x00\ud800"
    turn = {"text": odd, "calls": [{"name": "a", "args": {odd: odd}}], "usage": USAGE}
    file.write_text(json.dumps({"version": 1, "turns": [turn]}), encoding="utf-8")
    (read,) = ScriptedChatModel.load(file).script.turns
    assert read.text == odd
    assert read.calls[0].args == {odd: odd}


async def test_works_as_the_model_of_langchains_own_agent(file: Path) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    # Its types are open ones, which strict checkers refuse.
    create_agent: Any = agents.__dict__["create_agent"]
    agent = create_agent(ScriptedChatModel.load(file), [add])
    state = await agent.ainvoke({"messages": [HumanMessage("1 + 2")]})
    kinds = [message.type for message in state["messages"]]
    assert kinds == ["human", "ai", "tool", "ai"]
    assert state["messages"][2].content == "3"
    assert state["messages"][3].content == "second"
