package checkrein.rules.mine

deny if input.task.plan_mode
