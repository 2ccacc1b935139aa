package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	time.now_ns() > 1764500000000000000
}
