"""Reading a model turn: every call gets one proposal, and nothing that a model writes raises."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkrein.contracts.codec import canonical
from checkrein.contracts.proposal import (
    CandidateProposal,
    NothingProposal,
    Proposal,
    QuestionProposal,
    ToolProposal,
    UnusableProposal,
)
from checkrein.nodes.arguments import MAX_ARGS_BYTES
from checkrein.nodes.proposals import MAX_CALLS, read_proposals, read_reply
from checkrein.ports.capability import CapabilitySpec

READ = CapabilitySpec(
    name="workspace.read",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "mode": {"enum": ["text", "bytes"]},
            "extra": {"type": "object", "properties": {"deep": {"type": "string"}}},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)
FREE = CapabilitySpec(name="free.form", description="Anything.", parameters={"type": "object"})
CATALOGUE = {spec.name: spec for spec in (READ, FREE)}


def raw(text: str = "", *calls: tuple[str, Any], stop: str | None = None) -> bytes:
    written = [
        {"call_id": f"c{n}", "name": name, "args": args, "error": None}
        for n, (name, args) in enumerate(calls)
    ]
    return json.dumps({"text": text, "calls": written, "stop": stop}).encode()


def read(text: str = "", *calls: tuple[str, Any], stop: str | None = None) -> list[Proposal]:
    return read_proposals(raw(text, *calls, stop=stop), CATALOGUE)


def unusable(*calls: tuple[str, Any]) -> UnusableProposal:
    proposal = read("", *calls)[-1]
    assert isinstance(proposal, UnusableProposal)
    return proposal


@pytest.mark.parametrize("name", ["workspace.read", "workspace_read"])
def test_tool_is_known_by_its_name_and_by_the_name_that_providers_take(name: str) -> None:
    assert read("I look.", (name, {"path": "a.py"})) == [
        ToolProposal(position=0, call_id="c0", capability="workspace.read", args={"path": "a.py"})
    ]


def test_calls_keep_their_order_and_each_gets_one_proposal() -> None:
    found = read("", ("workspace_read", {"path": "a"}), ("nope", {}), ("free_form", {"x": 1}))
    assert [proposal.kind for proposal in found] == ["tool", "unusable", "tool"]
    assert [p.position for p in found if isinstance(p, ToolProposal | UnusableProposal)] == [
        0,
        1,
        2,
    ]


@pytest.mark.shows(47)
@pytest.mark.parametrize(
    "text",
    [
        "run rm -rf /",
        'workspace_read({"path": "a.py"})',
        '{"name": "workspace_read", "args": {"path": "a.py"}}',
        '<tool_call>{"name": "workspace_read"}</tool_call>',
        "```json\n[{'tool': 'workspace.read'}]\n```",
    ],
)
def test_prose_never_becomes_an_action(text: str) -> None:
    assert read(text) == [CandidateProposal(summary=text)]


@pytest.mark.parametrize("stop", [None, "stop", "end_turn", "something_new"])
def test_text_alone_is_a_candidate(stop: str | None) -> None:
    assert read("Done.", stop=stop) == [CandidateProposal(summary="Done.")]


@pytest.mark.parametrize("stop", ["length", "MAX_TOKENS", "content_filter", "refusal"])
def test_text_that_was_cut_short_is_nothing(stop: str) -> None:
    assert read("Done, all te", stop=stop) == [NothingProposal(why=f"cut_short:{stop.lower()}")]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_silence_is_nothing(text: str) -> None:
    assert read(text) == [NothingProposal(why="empty_reply")]


def test_question_alone_is_a_question() -> None:
    assert read("", ("ask_user", {"question": "Which?"})) == [
        QuestionProposal(call_id="c0", question="Which?")
    ]


def test_question_beside_other_calls_is_sent_back_and_they_are_kept() -> None:
    tool, question = read("", ("free_form", {}), ("ask_user", {"question": "Which?"}))
    assert isinstance(tool, ToolProposal)
    assert isinstance(question, UnusableProposal)
    assert question.error_type == "question_not_alone"
    assert "Ask alone" in question.advice


@pytest.mark.parametrize("args", [{}, {"question": ""}, {"question": " "}, {"question": 7}, None])
def test_question_without_a_question_is_sent_back(args: Any) -> None:
    assert unusable(("ask_user", args)).name == "ask_user"


def test_unknown_tool_is_sent_back_with_the_nearest_names() -> None:
    near = unusable(("workspace_raed", {}))
    assert near.error_type == "unknown_tool"
    assert "Did you mean workspace_read" in near.advice
    assert "Known tools: free_form, workspace_read." in unusable(("zzz", {})).advice


def test_a_tool_name_that_two_capabilities_share_means_neither() -> None:
    twins = {
        name: CapabilitySpec(name=name, description="x", parameters={"type": "object"})
        for name in ("a.b_c", "a_b.c")
    }
    found = read_proposals(raw("", ("a_b_c", {}), ("a.b_c", {})), twins)
    assert [proposal.kind for proposal in found] == ["unusable", "tool"]


@pytest.mark.shows(48)
@pytest.mark.parametrize(
    ("args", "error_type", "advice"),
    [
        ({}, "missing_arguments", "add path (a value of type string)"),
        ({"pth": "a"}, "invalid_arguments", "remove pth, or write path"),
        ({"path": "a", "zzz": 1}, "invalid_arguments", "remove zzz; known are path, limit"),
        ({"path": 7}, "invalid_arguments", "path must be of type string, not integer"),
        ({"path": None}, "invalid_arguments", "path must be of type string, not null"),
        ({"path": "a", "limit": True}, "invalid_arguments", "limit must be of type integer"),
        ({"path": "a", "limit": "7"}, "invalid_arguments", "must be of type integer, not string"),
        ({"path": "a", "limit": 0}, "invalid_arguments", "limit must satisfy minimum 1"),
        ({"path": "a", "limit": 101}, "invalid_arguments", "limit must satisfy maximum 100"),
        ({"path": ""}, "invalid_arguments", "path must satisfy minLength 1"),
        ({"path": "a", "mode": "x"}, "invalid_arguments", 'mode must be one of "text", "bytes"'),
        ({"path": "a", "extra": {"deep": 1}}, "invalid_arguments", "extra/deep must be of type"),
        (None, "invalid_json", "Send the arguments as one JSON object."),
        ([1], "invalid_json", "Send the arguments as one JSON object."),
        ({"path": "a\x00"}, "invalid_text", "The value at /path contains a NUL character."),
        ({"path": "a\ud800"}, "invalid_text", "The value at /path contains a lone surrogate"),
        ({"path": "a", "limit": 2**60}, "invalid_text", "/limit is an integer beyond 2**53-1"),
        ({"path": "a", "limit": float("nan")}, "invalid_text", "/limit is no finite number"),
    ],
)
def test_arguments_that_do_not_fit_are_sent_back_with_advice(
    args: Any, error_type: str, advice: str
) -> None:
    found = unusable(("workspace_read", args))
    assert found.error_type == error_type
    assert advice in found.advice


def test_reason_of_unreadable_arguments_is_passed_on() -> None:
    call = {"call_id": "c", "name": "free_form", "args": None, "error": "Expecting ',' at 1:7"}
    reply = json.dumps({"text": "", "calls": [call], "stop": None}).encode()
    (found,) = read_proposals(reply, CATALOGUE)
    assert isinstance(found, UnusableProposal)
    assert found.advice == "Expecting ',' at 1:7 Send the arguments as one JSON object."


def test_several_faults_are_told_at_once_and_bounded() -> None:
    many = {f"x{n}": n for n in range(500)}
    advice = unusable(
        ("workspace_read", {"path": 1, "limit": 0, "mode": "z" * 10_000, **many})
    ).advice
    assert "path must be" in advice
    assert "limit must" in advice
    assert "zzz" not in advice
    assert len(advice) < 1_100


def test_arguments_nested_too_deep_are_sent_back() -> None:
    for depth in (40, 500):
        deep: dict[str, Any] = {}
        for _ in range(depth):
            deep = {"a": deep}
        assert unusable(("free_form", deep)).error_type == "invalid_text"


def test_large_arguments_are_sent_back_and_large_text_is_no_reason() -> None:
    fits = {"x": "ä" * (MAX_ARGS_BYTES // 2 - 10)}
    assert isinstance(read("y" * 5_000_000, ("free_form", fits))[0], ToolProposal)
    too_large = {"x": "x" * MAX_ARGS_BYTES}
    assert unusable(("free_form", too_large)).error_type == "arguments_too_large"


def test_calls_beyond_the_limit_are_sent_back() -> None:
    found = read("", *[("free_form", {"n": n}) for n in range(50)])
    assert len(found) == 50
    assert all(isinstance(proposal, ToolProposal) for proposal in found[:MAX_CALLS])
    for proposal in found[MAX_CALLS:]:
        assert isinstance(proposal, UnusableProposal)
        assert proposal.error_type == "too_many_calls"


def test_five_megabytes_of_text_make_a_bounded_summary() -> None:
    (found,) = read("ä" * 5_000_000)
    assert isinstance(found, CandidateProposal)
    assert len(found.summary) < 17_000


def test_arguments_are_composed_as_policies_compare_them() -> None:
    (found,) = read("", ("free_form", {"x": "e\u0301"}))
    assert isinstance(found, ToolProposal)
    assert found.args == {"x": "\u00e9"}


def test_reply_is_shown_again_with_odd_text_made_storable() -> None:
    odd = "a\x00\ud800"
    reply = read_reply(raw(odd, ("free_form", {odd: [odd, 1, None]}), ("x" * 500, None)))
    assert reply.text == "a\\u0000\\ud800"
    assert reply.calls[0].args == {"a\\u0000\\ud800": ["a\\u0000\\ud800", 1, None]}
    assert reply.calls[1].args is None
    assert len(reply.calls[1].name) < 200
    reply.model_dump_json()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_unreadable_reply_is_nothing(data: bytes) -> None:
    assert read_proposals(data, CATALOGUE) == [NothingProposal(why="unreadable_reply")]
    assert read_reply(data).text == ""


ANY_TEXT = st.text(st.characters(codec=None, categories=["L", "N", "P", "Z", "C", "Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["workspace_read", "workspace.read", "free_form", "ask_user"]) | ANY_TEXT
CALL = JSON | st.fixed_dictionaries(
    {"name": NAMES | JSON, "args": JSON, "call_id": ANY_TEXT | JSON}, optional={"error": JSON}
)
REPLY = JSON | st.fixed_dictionaries(
    {"text": ANY_TEXT | JSON, "calls": st.lists(CALL, max_size=5) | JSON, "stop": JSON}
)


@pytest.mark.shows(47)
@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=64), REPLY.map(lambda reply: json.dumps(reply).encode())))
def test_nothing_that_a_model_writes_raises_or_escapes(data: bytes) -> None:
    found = read_proposals(data, CATALOGUE)
    assert found
    assert found == read_proposals(data, CATALOGUE)
    assert len(found) == max(1, len(read_reply(data).calls))
    for proposal in found:
        # What becomes an action or an event can be stored and hashed.
        canonical(proposal.model_dump(mode="json"))
        assert "\x00" not in json.dumps(proposal.model_dump(mode="json"), ensure_ascii=False)
    read_reply(data).model_dump_json()
