package checkrein.rules.x

deny contains {"reason_code": "elsewhere"} if {
	not startswith(input.action.resource, "file:")
}
