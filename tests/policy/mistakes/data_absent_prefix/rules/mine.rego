package checkrein.rules.mine

deny contains {"reason_code": "blocked"} if {
	data.blocked[input.actor.user].until_ms > input.now_ms
}
