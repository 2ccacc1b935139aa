package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if input.task.plan_mode

alow contains {"reason_code": "fine"} if input.action.side_effect_class == "READ"
