package checkrein.rules.other

ask contains {"reason_code": "not_today"} if input.action.egress
