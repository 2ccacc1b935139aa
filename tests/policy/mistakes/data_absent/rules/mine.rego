package checkrein.rules.mine

deny contains {"reason_code": "blocked"} if {
	input.actor.user in data.blocked
}
