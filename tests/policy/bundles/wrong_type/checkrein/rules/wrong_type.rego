# METADATA
# title: A builtin error
# description: Reads a number out of text that holds none, in a rule that would deny.
package checkrein.rules.wrong_type

allow contains {"reason_code": "fine"} if input.phase == "propose"

deny contains {"reason_code": "too_much"} if {
	input.action.capability == "workspace.read"
	to_number(input.action.args.amount) > 100
}
