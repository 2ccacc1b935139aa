package checkrein.rules.mine

deny contains {"reason_code": "not_today"} {
	input.task.plan_mode
}
