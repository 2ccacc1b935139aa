package checkrein.rules.mine

denied contains {"reason_code": "not_today"} if input.task.plan_mode

allow contains {"reason_code": "fine"} if input.action.side_effect_class == "READ"
