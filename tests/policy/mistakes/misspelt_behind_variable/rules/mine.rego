package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	some path in input.action.facts.paths
	path.insde == false
}
