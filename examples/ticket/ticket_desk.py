"""desk.read and desk.answer: the ticket desk's two calls, with what the desk promises of them."""

import os

import httpx

from checkrein import capability
from checkrein.adapters.http_declaration import HttpDeclaration
from checkrein.adapters.http_target import HttpTarget
from checkrein.contracts.action import Guarantee, Lookup

DESK = os.environ.get("TICKET_DESK", "http://127.0.0.1:8431")


@capability("desk.read", side_effect="READ", trust="external", facts={"urls": DESK})
async def read(ticket: str) -> dict[str, object]:
    """Read one ticket by its id."""
    if not ticket.replace("-", "").isalnum():
        raise ValueError("a ticket's id is letters, digits and dashes, such as T-17")
    async with httpx.AsyncClient(base_url=DESK, trust_env=False) as client:
        answer = await client.get(f"/tickets/{ticket}", timeout=10)
        answer.raise_for_status()
        return dict(answer.json())


answer = HttpTarget(
    HttpDeclaration(
        name="desk.answer",
        description="Send the customer the text as the ticket's reply, and set the ticket's state.",
        base_url=DESK,
        path="/replies",
        lookup_path="/replies",
        record="reply",
        parameters={
            "type": "object",
            "additionalProperties": False,
            "required": ["ticket", "text", "state"],
            "properties": {
                "ticket": {"type": "string", "pattern": "^T-[0-9]{1,9}$"},
                "text": {"type": "string", "minLength": 1, "maxLength": 2000},
                "state": {"enum": ["waiting", "answered"]},
            },
        },
        resource=lambda args: f"ticket:{args['ticket']}",
        key=lambda args: f"reply:{args['ticket']}",
        preview=lambda args: f"Reply to {args['ticket']} and set it {args['state']}.",
        guarantee=Guarantee.ATOMIC_KEY,
        lookup=Lookup.AUTHORITATIVE,
        key_retention_s=24 * 3600.0,
    )
)

capabilities = [read, answer]
