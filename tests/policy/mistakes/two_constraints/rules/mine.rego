package checkrein.rules.mine

limit contains {"max_bytes": 1000, "max_rows": 5} if input.action.egress
