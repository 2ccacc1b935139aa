package checkrein.rules.mine

import data.checkrein.mine as known

ask contains {"reason_code": "watched"} if {
	some url in known.watched
	url in {url.host | some url in input.action.facts.urls}
}
