package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if input.task.plan_mode

is_shell if input.action.capability == "shell.run"
