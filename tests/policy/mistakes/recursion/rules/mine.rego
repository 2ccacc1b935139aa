package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	depth(input.action.args) > 3
}

depth(value) := 1 + depth(value.inner)
