package checkrein.rules.workspace_test

import data.checkrein.rules.workspace

import future.keywords.not

source := {"param": "path", "segments": ["src", "a.py"], "inside": true, "exists": true, "symlink": false}

root := {"param": "path", "segments": [], "inside": true, "exists": true, "symlink": false}

outside := {"param": "path", "segments": [], "inside": false, "exists": true, "symlink": false}

link := {"param": "path", "segments": ["l"], "inside": true, "exists": true, "symlink": true}

action(capability, effect, paths) := {"action": {
	"capability": capability,
	"side_effect_class": effect,
	"facts": {"paths": paths, "bytes": 0},
}}

read_allowed := {{"reason_code": "read_in_workspace"}}

write_asked := {{"reason_code": "workspace_write"}}

test_read_is_allowed if {
	workspace.allow == read_allowed with input as action("workspace.read", "READ", [source])
}

test_list_of_the_root_is_allowed if {
	workspace.allow == read_allowed with input as action("workspace.list", "READ", [root])
}

test_read_that_can_change_something_is_not_allowed if {
	workspace.allow == set() with input as action("workspace.read", "REVERSIBLE", [source])
}

test_read_without_a_path_is_not_allowed if {
	workspace.allow == set() with input as action("workspace.read", "READ", [])
}

test_read_with_one_path_outside_is_not_allowed if {
	workspace.allow == set() with input as action("workspace.read", "READ", [source, outside])
}

test_read_through_a_link_is_not_allowed if {
	workspace.allow == set() with input as action("workspace.read", "READ", [link])
}

test_other_capability_is_not_allowed if {
	workspace.allow == set() with input as action("shell.run", "READ", [source])
}

test_patch_is_asked if {
	workspace.ask == write_asked with input as action("workspace.apply_patch", "REVERSIBLE", [source])
}

test_write_is_asked if {
	workspace.ask == write_asked with input as action("workspace.write_file", "REVERSIBLE", [source])
}

test_write_is_never_simply_allowed if {
	workspace.allow == set() with input as action("workspace.write_file", "READ", [source])
}

test_write_outside_is_not_even_asked if {
	workspace.ask == set() with input as action("workspace.write_file", "REVERSIBLE", [outside])
}

test_command_is_asked if {
	asked := {{"reason_code": "workspace_command"}}
	workspace.ask == asked with input as action("workspace.run_command", "IRREVERSIBLE", [root])
}

test_command_is_never_simply_allowed if {
	workspace.allow == set() with input as action("workspace.run_command", "IRREVERSIBLE", [root])
}

test_command_outside_is_not_even_asked if {
	workspace.ask == set() with input as action("workspace.run_command", "IRREVERSIBLE", [outside])
}

test_read_is_not_asked if {
	workspace.ask == set() with input as action("workspace.read", "READ", [source])
}

test_input_without_facts_is_not_inside if {
	not workspace.all_inside with input as {"action": {"capability": "workspace.read"}}
}
