package checkrein.rules.mine

deny contains {"reason_code": "revoked"} if input.task.plan_mode
