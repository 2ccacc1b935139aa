package checkrein.rules.x

deny contains {"reason_code": "elsewhere"} if {
	input.tenant ==
}
