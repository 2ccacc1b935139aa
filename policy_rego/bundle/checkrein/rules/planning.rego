# METADATA
# title: Plan mode
# description: Where only looking and planning is wanted, nothing changes, whoever would approve it.
package checkrein.rules.planning

import future.keywords.not

# METADATA
# title: Change in plan mode
# description: The task is in plan mode, or does not say whether it is, and this changes something.
# custom:
#   reason_code: plan_mode
deny contains {"reason_code": "plan_mode"} if {
	not input.action.side_effect_class == "READ"
	not input.task.plan_mode == false
}
