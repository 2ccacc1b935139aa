package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	not startswith(input.action.environment, "dev")
}
