# METADATA
# title: Repairing orders
# description: Reading the complaint needs nobody's consent; each changed order needs its owner's.
package checkrein.rules.orders

# METADATA
# title: Read the complaint
# description: Files of the workspace may be read.
# custom:
#   reason_code: read_in_workspace
allow contains {"reason_code": "read_in_workspace"} if {
	input.action.capability == "workspace.read"
	count(input.action.facts.paths) > 0
	every path in input.action.facts.paths {
		path.inside == true
		path.symlink == false
	}
}

# METADATA
# title: Change an order
# description: The owner of the orders sees the row before and after, and agrees to that very change.
# custom:
#   reason_code: order_change
ask contains {"reason_code": "order_change", "roles": ["owner"]} if {
	input.action.capability == "orders.set"
}
