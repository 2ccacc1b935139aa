package checkrein.rules.x

deny contains {"reason_code": "shell"} if {
	input.action.capablity == "shell.run"
}

deny contains {"reason_code": "outside"} if {
	some path in input.action.facts.paths
	path.insde == false
}
