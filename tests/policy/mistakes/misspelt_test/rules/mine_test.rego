package checkrein.rules.mine_test

import data.checkrein.rules.mine

tets_plan_mode_is_denied if {
	count(mine.deny) == 1 with input as {"task": {"plan_mode": true}}
}
