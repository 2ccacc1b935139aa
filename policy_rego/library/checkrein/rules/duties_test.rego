package checkrein.rules.duties_test

import data.checkrein.rules.duties

of(risk, effect, approvers) := {
	"task": {"risk": risk, "requested_by": "alice"},
	"actor": {"user": "agent-owner"},
	"action": {"side_effect_class": effect},
	"approvals": [{"approval_id": "1", "approvers": approvers, "operation_hash": "x"}],
}

asked(roles) := {{
	"reason_code": "high_risk_change",
	"roles": roles,
	"quorum": 2,
	"separation_of_duty": true,
}}

requester := {{"reason_code": "approved_by_requester"}}

unknown := {{"reason_code": "approver_unknown"}}

test_a_change_of_high_risk_is_asked_of_two if {
	every effect in ["REVERSIBLE", "IRREVERSIBLE"] {
		duties.ask == asked(["lead"]) with input as of("high", effect, ["bob"])
			with data.checkrein.duties as {"roles": ["lead"]}
		duties.deny == set() with input as of("high", effect, ["bob"])
	}
}

test_an_unknown_risk_is_a_high_one if {
	every risk in ["extreme", "LOW", null, 1] {
		duties.ask == asked(["approver"]) with input as of(risk, "REVERSIBLE", ["bob"])
			with data.checkrein.duties as {}
	}
	duties.ask == asked(["approver"]) with input as {} with data.checkrein.duties as {}
}

test_less_risk_and_reading_are_left_alone if {
	every risk in ["low", "medium"] {
		duties.ask == set() with input as of(risk, "IRREVERSIBLE", ["bob"])
		duties.deny == set() with input as of(risk, "IRREVERSIBLE", ["bob"])
	}
	duties.ask == set() with input as of("high", "READ", ["bob"])
}

test_the_requester_never_approves if {
	every approvers in [["alice"], ["bob", "alice"], ["agent-owner"]] {
		duties.deny == requester with input as of("low", "REVERSIBLE", approvers)
	}
}

test_without_an_approval_nothing_is_denied if {
	duties.deny == set() with input as object.union(of("low", "REVERSIBLE", []), {"approvals": []})
	duties.deny == set() with input as {}
}

test_an_approval_by_nobody_is_denied if {
	duties.deny == unknown with input as of("low", "REVERSIBLE", [])
	duties.deny == unknown with input as {"approvals": [{"approvers": ["bob"]}]}
	duties.deny == unknown with input as {"approvals": [{}]}
}
