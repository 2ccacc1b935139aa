package checkrein.rules.x

deny contains {"reason_code": "secret"} if {
	[_, found] := walk(input.action.args)
	found == "secret"
}
