"""Identifiers: random for what is new, derived for what must be the same when computed again."""

import hashlib
import uuid


def new_task_id() -> str:
    """A fresh task id (UUID text)."""
    return str(uuid.uuid4())


def new_attempt_id() -> str:
    """A fresh attempt id. It is the LangGraph thread id too, which servers want as a UUID."""
    return str(uuid.uuid4())


def new_owner_id() -> str:
    """A fresh id of one process's claim on an attempt."""
    return "own_" + uuid.uuid4().hex[:20]


def action_id(attempt_id: str, turn: int, position: int, revision: int = 0) -> str:
    """The logical action: stable over node re-execution, retries, processes and resumes."""
    return _derived("act", attempt_id, turn, position, revision)


def approval_id(action: str, request_revision: int) -> str:
    """One approval request: the n-th time that this action is shown to people."""
    return _derived("apr", action, request_revision)


def effect_id(tenant: str, resource: str, key: str) -> str:
    """One row of the ledger: the business key, scoped by tenant and resource."""
    return _derived("eff", tenant, resource, key)


def _derived(prefix: str, *parts: str | int) -> str:
    # A length before each part, so that no two different lists of parts read the same.
    text = "".join(f"{len(str(part))}:{part}" for part in parts)
    return f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
