# METADATA
# title: Never done
# description: Counts for minutes before it allows a read.
package checkrein.rules.slow

allow contains {"reason_code": "counted"} if {
	input.action.capability == "workspace.read"
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 100000)
	a + b < 0
}

allow contains {"reason_code": "quick"} if input.action.capability == "workspace.list"
