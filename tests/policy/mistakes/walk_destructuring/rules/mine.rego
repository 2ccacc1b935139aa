package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	[_, found] := walk(input.action.args)
	found == "secret"
}
