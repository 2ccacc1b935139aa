package checkrein.rules.capabilities_test

import data.checkrein.rules.capabilities

of(capability, granted) := {"action": {"capability": capability}, "task": {"capabilities": granted}}

not_granted := {"reason_code": "capability_not_granted"}

unknown := {"reason_code": "unknown_capability"}

# A list of the tests' own, since a team changes the bundle's.
known := {"capabilities": ["workspace.read"]}

test_granted_and_known_is_not_denied if {
	every name in data.checkrein.known.capabilities {
		capabilities.deny == set() with input as of(name, [name])
	}
}

test_not_granted_is_denied if {
	found := capabilities.deny with input as of("workspace.read", ["workspace.list"])
		with data.checkrein.known as known
	found == {not_granted}
}

test_granted_but_unknown_is_denied if {
	found := capabilities.deny with input as of("shell.run", ["shell.run"])
		with data.checkrein.known as known
	found == {unknown}
}

test_nothing_granted_is_denied if {
	found := capabilities.deny with input as of("shell.run", []) with data.checkrein.known as known
	found == {not_granted, unknown}
}

test_missing_input_is_denied if {
	capabilities.deny == {not_granted, unknown} with input as {}
}

test_missing_list_is_denied if {
	unknown in capabilities.deny with input as of("workspace.read", ["workspace.read"])
		with data.checkrein.known as {}
}
