package checkrein.rules.x

allow contains {"reason_code": "signed"} if {
	crypto.sha256(input.action.resource) == "00"
}
