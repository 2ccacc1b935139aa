"""Raising a budget: an act of a person with authority, recorded; and the books that it is in."""

from checkrein.contracts.approval import Approver
from checkrein.contracts.budget import MOST, BookLine, Budget
from checkrein.contracts.event import BudgetRaised
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough, is_authority
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records

_OP = "budget.raise"


async def raise_budget(
    events: EventStore,
    records: Records,
    attempt_id: str,
    budget: Budget,
    limit: int,
    who: Approver,
    *,
    reason: str = "",
    shared: bool = False,
) -> BookLine:
    """Raise a limit of the attempt, or with `shared` of its task, and return it as it is then.

    The database looks once more, in the transaction that raises. What waits for the budget goes on
    where it stopped once it is resumed.

    Raises:
        InputError: no such attempt or budget, a limit that is no larger, or a person who may not
            (code raiser_not_permitted, identity_required, requester_excluded or other_tenant).
        ConflictError: the attempt has ended, or somebody else was faster.
    """
    contract = await events.contract(attempt_id)
    if who.tenant is not None and who.tenant != contract.tenant:
        raise InputError(
            f"There is no attempt {attempt_id} for {who.tenant}.", op=_OP, code="other_tenant"
        )
    authority = _authority(contract, who)
    line = await _line(records, attempt_id, budget, shared=shared)
    if not line.limit < limit <= MOST:
        raise InputError(
            f"The budget {budget} is {line.limit}, and {limit} does not raise it. Give the whole "
            f"new limit: more than {line.limit}, at most {MOST}.",
            op=_OP,
            code="limit_not_raised",
        )
    raised = BudgetRaised(
        budget=budget,
        pool=line.pool,
        from_limit=line.limit,
        to_limit=limit,
        by=who.name,
        authority=authority,
        authenticated=who.authenticated,
        reason=reason,
    )
    await events.append(attempt_id, [raised], fence=None)
    return await _line(records, attempt_id, budget, shared=shared)


async def _line(records: Records, attempt_id: str, budget: Budget, *, shared: bool) -> BookLine:
    task_id = (await records.position(attempt_id)).attempt.task_id
    pool = task_id if shared else attempt_id
    lines = [line for line in await records.books(attempt_id) if line.pool == pool]
    found = next((line for line in lines if line.budget is budget), None)
    if found is None:
        whose = f"Task {task_id} shares" if shared else f"Attempt {attempt_id} has"
        there = ", ".join(line.budget for line in lines) or "nothing"
        raise InputError(
            f"{whose} no limit for {budget}, so there is nothing to raise. Limited: {there}.",
            op=_OP,
            code="no_such_budget",
        )
    return found


def _authority(contract: TaskContract, who: Approver) -> str:
    """By which right a person may raise budgets of a task; the contract says whose it is."""
    rules = contract.approvals
    named = rules.budget_role or contract.commit_authority
    if named is None and not who.authenticated:
        raise _refused(
            "The task names nobody who may raise a budget (approvals.budget_role or "
            "commit_authority), so it takes a token that is good for authority "
            "(`checkrein token issue --scope authority`).",
            "identity_required",
        )
    if named is not None and not _has(contract, named, who.name):
        unnamed = "Nobody in particular" if who.name == ANONYMOUS else who.name
        people = rules.roles.get(named) or [named]
        raise _refused(
            f"{unnamed} may not raise a budget of this task; {', '.join(people)} may.",
            "raiser_not_permitted",
        )
    if not (who.authenticated or asserted_is_enough(contract)):
        raise _refused(
            f"This task's risk is {contract.risk}, and a name that is only asserted is good up to "
            f"{rules.asserted_up_to}. Use a token that is good for authority "
            "(`checkrein token issue --scope authority`).",
            "identity_required",
        )
    if rules.separation_of_duty and who.name == contract.requested_by:
        raise _refused(
            f"{who.name} asked for this task, and duties are separated: somebody else raises its "
            "budgets.",
            "requester_excluded",
        )
    return named or "token"


def _has(contract: TaskContract, named: str, person: str) -> bool:
    """Whether a person has the role; a commit authority may also be the person's own name."""
    if contract.approvals.budget_role is None:
        return is_authority(contract, person)
    return person in contract.approvals.roles.get(named, [])


def _refused(problem: str, code: str) -> InputError:
    return InputError(problem, op=_OP, code=code)
