package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	path.inside == false
}
