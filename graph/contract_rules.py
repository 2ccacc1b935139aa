"""Rules about the contract: one and the same for all of a trace, whoever was asked under it."""

from collections.abc import Iterator

from checkrein.contracts import event as e
from checkrein.contracts.codec import digest_of
from checkrein.errors import InputError
from checkrein.graph.ending_rules import Facts, Problem


def one_contract(facts: Facts) -> Iterator[Problem]:
    """The attempt works under the contract of its task, and people were asked under that one."""
    created: e.TaskCreated | None = None
    version = ""
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.TaskCreated):
            created = p
        elif isinstance(p, e.AttemptStarted):
            version = _version(p.contract)
            if created is not None and created.task.contract_version != version:
                yield fact.seq, "the attempt starts under another contract than its task has"
            if created is not None and created.task.task_id != p.attempt.task_id:
                yield fact.seq, "the attempt is of another task than was created"
        elif isinstance(p, e.ApprovalPrepared) and p.approval.contract_version != version:
            yield fact.seq, f"{p.approval.approval_id} was asked for under another contract"


def _version(contract: object) -> str:
    try:
        return digest_of(contract)
    except InputError:
        return ""
