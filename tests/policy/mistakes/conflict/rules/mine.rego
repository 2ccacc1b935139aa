package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	input.budget.steps < least
}

least := 1

least := 2
