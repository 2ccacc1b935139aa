"""What Agent Chat UI and Agent Inbox make of an interrupt, and what their buttons then send.

Written after what both were seen to do (agent-chat-ui 254cd6f, agent-inbox f38301b and 1141fd0).
"""

import json
from typing import Any, NamedTuple, cast


class Card(NamedTuple):
    """An approval card: a tool, its arguments in fields of text, and the buttons under it."""

    program: str
    name: str
    args: dict[str, Any]
    buttons: list[str]


def chat_ui(value: dict[str, Any]) -> Card | None:
    """Agent Chat UI's card, or None where it would show raw JSON."""
    requests = _listed(value.get("action_requests"))
    configs = _listed(value.get("review_configs"))
    if not requests or not configs:
        return None
    request = requests[0]
    whole = all(isinstance(r["name"], str) and isinstance(r["args"], dict) for r in requests)
    if not whole or not all(isinstance(c["allowed_decisions"], list) for c in configs):
        return None
    config = next((c for c in configs if c["action_name"] == request["name"]), configs[0])
    shown = [one for one in ("approve", "edit", "reject") if one in config["allowed_decisions"]]
    return Card("chat", request["name"], request["args"], shown)


def inbox(value: dict[str, Any]) -> Card | None:
    """Agent Inbox's card by its own form; None where it would say that the schema is improper."""
    request: dict[str, Any] = value.get("action_request") or {}
    config: dict[str, Any] = value.get("config") or {}
    if not config or not request.get("action"):
        return None
    kinds = {"accept": "accept", "edit": "edit", "respond": "response", "ignore": "ignore"}
    shown = [kind for flag, kind in kinds.items() if config[f"allow_{flag}"]]
    return Card("inbox", request["action"], request["args"], shown)


def inbox_hitl(value: dict[str, Any]) -> Card | None:
    """The card of an Agent Inbox that looks for LangChain's form first."""
    requests: list[dict[str, Any]] = value.get("action_requests") or []
    if not requests:
        return None
    first, decisions = requests[0], value["review_configs"][0]["allowed_decisions"]
    kinds = {"approve": "accept", "edit": "edit", "reject": "response"}
    shown = [kind for decision, kind in kinds.items() if decision in decisions]
    # One version reads `arguments` alone.
    return Card("inbox_hitl", first["name"], first["arguments"], shown)


def _listed(value: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", value) if isinstance(value, list) else []


def edited(card: Card, **fields: Any) -> dict[str, Any]:
    """The arguments after a person typed into some fields: those are text, whatever they were."""
    typed = {k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
    return {**card.args, **typed}


def all_text(card: Card, **fields: Any) -> dict[str, Any]:
    """The arguments where a program sends every field as the text that it showed."""
    return edited(card, **{**card.args, **fields})


def pressed(card: Card, button: str, args: dict[str, Any] | str | None = None) -> Any:
    """What the program sends as `command.resume`."""
    assert button in card.buttons, f"{card.program} shows {card.buttons}"
    if card.program == "chat":
        return {"decisions": [_decision(card, button, args)]}
    said = {"action": card.name, "args": args} if isinstance(args, dict) else args
    response = {"type": button, "args": said}
    if card.program == "inbox":
        return [response]
    kind = {"accept": "approve", "response": "reject"}.get(button, button)
    return {"decisions": [{**response, "type": kind}]}


def _decision(card: Card, button: str, args: dict[str, Any] | str | None) -> dict[str, Any]:
    if button == "edit":
        return {"type": "edit", "edited_action": {"name": card.name, "args": args}}
    return {"type": "reject", "message": args} if button == "reject" else {"type": button}
