package checkrein.rules.work_test

import data.checkrein.rules.work

action(capability, effect) := {"action": {"capability": capability, "side_effect_class": effect}}

test_reading_is_allowed if {
	found := work.allow with input as action("workspace.read", "READ")
	found == {{"reason_code": "read_in_workspace"}}
}

test_a_read_that_can_change_something_is_not_allowed if {
	work.allow == set() with input as action("workspace.read", "REVERSIBLE")
}

test_writing_is_asked_and_not_allowed if {
	write := action("workspace.write_file", "REVERSIBLE")
	found := work.ask with input as write
	found == {{"reason_code": "write_in_workspace", "roles": ["approver"]}}
	work.allow == set() with input as write
}

test_another_capability_is_neither if {
	work.allow == set() with input as action("shell.run", "IRREVERSIBLE")
	work.ask == set() with input as action("shell.run", "IRREVERSIBLE")
}
