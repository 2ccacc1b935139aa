package checkrein.rules.mine

ask contains {"roles": ["approver"]} if input.action.egress
