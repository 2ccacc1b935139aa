package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	regex.match(`^\d+$`, input.action.resource)
}
