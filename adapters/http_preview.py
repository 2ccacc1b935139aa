"""What would be posted to a service, as people see it: the request, without its secrets."""

import json
from typing import Any

from checkrein.adapters.http_declaration import OPERATION_HASH, HttpDeclaration
from checkrein.adapters.money import written_out
from checkrein.contracts.action import Facts, Guarantee
from checkrein.contracts.codec import visible
from checkrein.contracts.folding import folded_text
from checkrein.contracts.secrets import MASK, masked, masked_text

_MAX_BODY = 16 * 1024


def request_preview(
    declared: HttpDeclaration, args: dict[str, Any], facts: Facts, said: str
) -> str:
    """The declared sentence, the amount written out, and the request with method, URL and headers.

    The declaration's own headers are asked for at the send, so that they are named as masked and
    not asked for here; in the body, what looks like a credential is masked.
    """
    lines = [said] if said else []
    if facts.amount_minor is not None and facts.currency is not None:
        lines.append(f"amount: {written_out(facts.amount_minor, facts.currency)}")
    lines.append(masked_text(f"POST {declared.url(declared.path)}"))
    lines.append("Content-Type: application/json")
    if declared.guarantee is Guarantee.ATOMIC_KEY:
        lines.append(f"{declared.key_header}: the effect's id, so that repeats do it once")
    if declared.headers is not None:
        lines.append(f"further headers: {MASK}, asked for at the send and shown to nobody")
    body = visible(json.dumps(masked(args)[0], ensure_ascii=False, indent=2, sort_keys=True))
    more = [OPERATION_HASH, *([declared.reference] if declared.reference else [])]
    lines += ["", folded_text(body, _MAX_BODY), f"The harness adds to the body: {', '.join(more)}"]
    return "\n".join(lines)
