package checkrein.rules.x

allow contains {"reason_code": "late"} if time.now_ns() > 0
