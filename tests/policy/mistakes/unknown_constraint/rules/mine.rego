package checkrein.rules.mine

limit contains {"max_byte": 1000} if input.action.egress
