package checkrein.rules.x

allow contains {"reason_code": "counted"} if depth(1) > 5000

depth(n) := depth(n + 1)
