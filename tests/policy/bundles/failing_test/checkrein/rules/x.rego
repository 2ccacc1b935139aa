package checkrein.rules.x

allow contains {"reason_code": "listing"} if input.action.capability == "workspace.list"
