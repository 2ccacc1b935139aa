"""Opening an OPA server only where one is named: its client is an extra, and slow to load."""

import importlib
from collections.abc import Set as AbstractSet
from typing import Any

from checkrein.errors import InputError
from checkrein.ports.policy import Policy

PREFIX = "opa:"
"""How a policy is named that an OPA server decides; the server's address follows."""


async def open_opa(
    url: str,
    *,
    token: str | None = None,
    ca: str | None = None,
    revisions: AbstractSet[str] = frozenset(),
) -> Policy:
    """Open a server as `checkrein.policy_rego.opa.OpaPolicy.open` does, and raise what it raises.

    Raises:
        InputError: besides, the extra `checkrein[opa]` is not installed.
    """
    try:
        # Named by text, since the client is an extra.
        module: Any = importlib.import_module("checkrein.policy_rego.opa")
    except ImportError as error:
        raise InputError(
            "Deciding by an OPA server needs its client, which is not installed. "
            "Run: pip install 'checkrein[opa]'",
            op="policy.opa",
            code="policy_unusable",
        ) from error
    policy: Policy = await module.OpaPolicy.open(url, token=token, ca=ca, revisions=revisions)
    return policy
