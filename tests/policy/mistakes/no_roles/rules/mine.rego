package checkrein.rules.mine

ask contains {"reason_code": "egress", "roles": []} if input.action.egress
