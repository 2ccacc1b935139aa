package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	startwith(input.action.capability, "shell.")
}
