package checkrein.rules.x_test

import data.checkrein.rules.x

test_list_is_allowed if {
	count(x.allow) == 1 with input as {"action": {"capability": "workspace.list"}}
}

test_read_is_allowed if {
	count(x.allow) == 1 with input as {"action": {"capability": "workspace.read"}}
}

test_breaks if {
	to_number("no number") == 1
}

test_never_ends if {
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 100000)
	a + b < 0
}

test_after_the_endless_one if {
	count(x.allow) == 1 with input as {"action": {"capability": "workspace.list"}}
}

todo_test_later if {
	false
}
