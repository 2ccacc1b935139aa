package checkrein.rules.mine

import data.checkrein.lib.pathes

deny contains {"reason_code": "not_today"} if {
	pathes.outside(input.action.facts.paths[_])
}
