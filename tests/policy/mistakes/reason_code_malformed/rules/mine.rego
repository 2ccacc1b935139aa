package checkrein.rules.mine

deny contains {"reason_code": "Not today!"} if input.task.plan_mode
