# METADATA
# title: Budgets
# description: |
#   Near the end of its budget an attempt does nothing on its own that cannot be undone, and after
#   many denials nothing that changes or leaves anything. It may still read, and say what it found.
#   Data in checkrein/budgets/data.json: `tool_calls_kept`, `most_denials`.
package checkrein.rules.budgets

import future.keywords.not

# METADATA
# title: Few calls left
# description: |
#   What cannot be undone is asked where fewer than `tool_calls_kept` tool calls are left: too few
#   to look at what came of it.
# custom:
#   reason_code: few_calls_left
ask contains {"reason_code": "few_calls_left"} if {
	not input.action.side_effect_class in {"READ", "REVERSIBLE"}
	not enough_left
}

# METADATA
# title: Many denials
# description: After `most_denials` denials in one attempt it changes nothing and sends nothing out.
# custom:
#   reason_code: too_many_denials
deny contains {"reason_code": "too_many_denials"} if {
	not only_reads
	not few_denials
}

only_reads if {
	input.action.side_effect_class == "READ"
	input.action.egress == false
}

enough_left if {
	is_number(input.budget.tool_calls)
	is_number(data.checkrein.budgets.tool_calls_kept)
	input.budget.tool_calls >= data.checkrein.budgets.tool_calls_kept
}

few_denials if {
	is_number(input.attempt.prior_denials)
	is_number(data.checkrein.budgets.most_denials)
	input.attempt.prior_denials < data.checkrein.budgets.most_denials
}
