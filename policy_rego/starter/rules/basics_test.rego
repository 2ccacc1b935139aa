package checkrein.rules.basics_test

import data.checkrein.rules.basics

path(segments, inside, symlink) := {
	"param": "path",
	"segments": segments,
	"inside": inside,
	"exists": true,
	"symlink": symlink,
}

action(capability, effect, paths) := {
	"task": {"capabilities": ["workspace.read", "workspace.write_file", "none.such"]},
	"action": {
		"capability": capability,
		"side_effect_class": effect,
		"facts": {"paths": paths, "bytes": 0},
	},
}

denied(code) := {{"reason_code": code}}

plain := path(["src", "a.py"], true, false)

test_ordinary_read_is_not_denied if {
	basics.deny == set() with input as action("workspace.read", "READ", [plain])
}

test_ordinary_write_is_not_denied if {
	basics.deny == set() with input as action("workspace.write_file", "REVERSIBLE", [plain])
}

test_what_is_not_granted_is_denied if {
	found := basics.deny with input as action("workspace.list", "READ", [plain])
	found == denied("capability_not_granted")
}

test_what_nobody_knows_is_denied if {
	found := basics.deny with input as action("none.such", "IRREVERSIBLE", [])
	found == denied("unknown_capability")
}

test_a_path_outside_is_denied if {
	found := basics.deny with input as action("workspace.read", "READ", [path(["a"], false, false)])
	found == denied("path_outside_workspace")
}

test_a_path_through_a_link_is_denied if {
	found := basics.deny with input as action("workspace.read", "READ", [path(["a"], true, true)])
	found == denied("path_outside_workspace")
}

test_a_write_to_tests_is_denied if {
	tests := path(["Tests", "a.py"], true, false)
	found := basics.deny with input as action("workspace.write_file", "REVERSIBLE", [tests])
	found == denied("protected_path")
}

test_tests_may_be_read if {
	tests := path(["tests", "a.py"], true, false)
	basics.deny == set() with input as action("workspace.read", "READ", [tests])
}
