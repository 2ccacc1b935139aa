"""What people are shown of a call, as the loop makes the request: safe and without secrets."""

from pathlib import Path
from typing import Any

import pytest
from loops import ASK_ALL, DONE, call, contract, opened, says

from checkrein import capability
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.folding import folded
from checkrein.settings import Settings

SECRET = "hunter2-and-more"
LONG = "\u202e" + "x" * 50_000
ARGS = {"to": "p\u0430y@example.com", "text": LONG, "api_key": SECRET}


def preview(args: dict[str, Any]) -> str:
    """A message as its author renders it, with more in it than should be seen."""
    return f"To: {args['to']}\nKey: {args['api_key']}\n\x1b[2J{args['text'][:10]}"


@pytest.mark.shows(89)
async def test_a_request_is_shown_safely_and_edited_whole(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the approver from the model's text, and long and secret values from an edit."""
    sent: list[str] = []

    @capability("mail.send", preview=preview, egress=True, environment="production")
    async def mail(to: str, text: str, api_key: str) -> None:
        """Send a mail."""
        sent.append(f"{to} {len(text)} {api_key}")

    @capability("mail.recall", compensates="mail.send")
    async def recall(effect_id: str) -> None:
        """Ask for a mail to be deleted unread."""

    task = contract(
        tmp_path,
        [says(f"I send {SECRET}.\x07", call("mail.send", **ARGS)), DONE],
        policy=ASK_ALL,
        capabilities=["mail.send", "mail.recall"],
    )
    async with opened(settings, mail, recall) as (harness, _):
        report = await harness.run(task)
        (request,) = report.approvals
        assert request.preview_kind is PreviewKind.MESSAGE
        assert request.preview == (
            "To: p\u0430y@example.com\nKey: [masked]\n\\u001b[2J\\u202exxxxxxxxx"
        )
        assert (request.expected, request.undo) == ("Send a mail.", "mail.recall makes up for it")
        assert request.on_failure.startswith("nothing is repeated")
        told = "\n".join(request.warnings)
        for words in (
            "args/api_key: masked",
            "args/to, character 1: a word of mixed alphabets: Cyrillic, Latin (p\\u0430y)",
            "args/text, character 1: a mark changes the order",
            "preview, character",
        ):
            assert words in told
        edited = {**folded(request.args), "to": "pay@example.com"}
        assert SECRET not in str(edited)
        await harness.edit(request.approval_id, edited, by="bob")
        (again,) = (await harness.resume(report.attempt_id)).approvals
        assert again.args == {**ARGS, "to": "pay@example.com"}
        await harness.approve(again.approval_id, by="carol")
        await harness.resume(report.attempt_id)
    assert sent == [f"pay@example.com {len(LONG)} {SECRET}"]
