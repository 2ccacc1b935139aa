"""Who may answer, said in one place: by what is suggested, told, refused and graded alike."""

from requests_made import asked

from checkrein.contracts.check import CommandCheck, CommandSpec
from checkrein.contracts.decision import ApprovalTerms
from checkrein.contracts.task import ApprovalRules, Risk, TaskContract
from checkrein.entrypoints.cli.next_steps import approve_command, people, who_answers
from checkrein.nodes.approvers import barred, may_answer

PEOPLE = {"approver": ["alice", "bob", "carol"], "lead": ["erin"]}
APART = ApprovalTerms(roles=["approver"], separation_of_duty=True)
CHECK = CommandCheck(command=CommandSpec(argv=["true"]))


def task(risk: Risk) -> TaskContract:
    """A task of alice's."""
    rules = ApprovalRules(roles=PEOPLE)
    return TaskContract(goal="x", requested_by="alice", risk=risk, approvals=rules, success=[CHECK])


def test_neither_requester_nor_editor_where_duties_are_separated() -> None:
    """Protects: after an edit by bob nobody suggests alice, who asked for the task."""
    request = asked("till.pay", {"to": "acme"}, terms=APART, requested_by="bob")
    assert may_answer(request, PEOPLE, "alice") == ["carol"]
    assert barred(request, "alice") == {"alice", "bob"}
    assert people(task(Risk.LOW), request) == ["carol"]
    command = approve_command(task(Risk.LOW), request)
    assert command == "checkrein approve apr_1 --as carol"


def test_everybody_with_a_role_where_they_are_not() -> None:
    """Protects: roles, and those that it was escalated to, in the contract's order, each once."""
    escalation = [{"after_s": 60, "role": "lead"}]
    request = asked("till.pay", {}, escalation=escalation, escalated=1)
    assert may_answer(request, PEOPLE, "alice") == ["alice", "bob", "carol", "erin"]
    assert barred(request, "alice") == frozenset()


def test_what_is_suggested_is_enough() -> None:
    """Protects: above the risk at which a name is enough, nobody is told to give a name alone."""
    request = asked("till.pay", {})
    assert who_answers(task(Risk.LOW)) == "--as WHO"
    assert who_answers(task(Risk.HIGH)) == "--token-file FILE"
    assert approve_command(task(Risk.HIGH), request) == "checkrein approve apr_1"
