# METADATA
# title: Stage gates
# description: |
#   Which capabilities a task may use in which of its stages. Data in checkrein/stages/data.json:
#   `capabilities`, a list for each stage. A task without a stage of its own is in `execute`.
package checkrein.rules.stages

import future.keywords.not

# METADATA
# title: Not in this stage
# description: The capability is not listed for the stage that the task is in.
# custom:
#   reason_code: not_in_this_stage
deny contains {"reason_code": "not_in_this_stage"} if {
	listed := data.checkrein.stages.capabilities[input.task.stage]
	not input.action.capability in listed
}

# METADATA
# title: Stage unknown
# description: The data know no such stage.
# custom:
#   reason_code: stage_unknown
deny contains {"reason_code": "stage_unknown"} if {
	not data.checkrein.stages.capabilities[input.task.stage]
}
