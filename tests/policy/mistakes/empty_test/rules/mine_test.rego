package checkrein.rules.mine_test

test_plan_mode_is_denied if {
	member := {"reason_code": "not_today"}
	member.reason_code == "not_today"
}
