# METADATA
# title: Separation of duties
# description: |
#   Who asks for something does not approve it, and where much is at risk two others do. Data in
#   checkrein/duties/data.json: `roles` that may approve.
package checkrein.rules.duties

import future.keywords.not

# METADATA
# title: Change of a risky task
# description: |
#   A change in a task of high risk, or of a risk that is not known, needs two people, and neither
#   may be the requester.
# custom:
#   reason_code: high_risk_change
ask contains {
	"reason_code": "high_risk_change",
	"roles": roles,
	"quorum": 2,
	"separation_of_duty": true,
} if {
	not input.action.side_effect_class == "READ"
	not input.task.risk in {"low", "medium"}
}

# METADATA
# title: Approved by the requester
# description: An approval is held that the person behind the task gave, whatever the risk.
# custom:
#   reason_code: approved_by_requester
deny contains {"reason_code": "approved_by_requester"} if {
	some approval in input.approvals
	some approver in approval.approvers
	approver in {input.task.requested_by, input.actor.user}
}

# METADATA
# title: Approved by nobody who is known
# description: An approval is held that names nobody, or the input does not say who asked.
# custom:
#   reason_code: approver_unknown
deny contains {"reason_code": "approver_unknown"} if {
	some approval in input.approvals
	not are_known(approval)
}

are_known(approval) if {
	count(approval.approvers) > 0
	is_string(input.task.requested_by)
	is_string(input.actor.user)
}

default roles := ["approver"]

roles := data.checkrein.duties.roles
