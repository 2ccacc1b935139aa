# METADATA
# title: Plan mode
# description: Where only looking and planning is wanted, nothing changes, whoever would approve it.
package checkrein.rules.planning

import future.keywords.not

# METADATA
# title: Plan handed in
# description: A plan is accepted or rejected by a person; that ends plan mode.
# custom:
#   reason_code: plan_submitted
ask contains {"reason_code": "plan_submitted"} if {
	input.action.capability == "plan.submit"
	input.task.plan_mode == true
}

# METADATA
# title: Result handed in
# description: A result is accepted or rejected by a person.
# custom:
#   reason_code: result_submitted
ask contains {"reason_code": "result_submitted"} if input.action.capability == "result.submit"

# METADATA
# title: Change in plan mode
# description: The task is in plan mode, or does not say whether it is, and this changes something.
# custom:
#   reason_code: plan_mode
deny contains {"reason_code": "plan_mode"} if {
	not input.action.side_effect_class == "READ"
	not input.task.plan_mode == false
}
