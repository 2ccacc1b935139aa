package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	input.action.side_effect_class == "write"
}
