package checkrein.rules.paths_test

import data.checkrein.rules.paths

path(inside, symlink) := {
	"param": "path",
	"segments": ["a"],
	"inside": inside,
	"exists": true,
	"symlink": symlink,
}

of(found) := {"action": {"facts": {"paths": found, "bytes": 0}}}

test_inside_is_not_denied if {
	paths.deny == set() with input as of([path(true, false)])
}

test_no_path_is_not_denied if {
	paths.deny == set() with input as of([])
}

test_outside_is_denied if {
	paths.deny == {{"reason_code": "path_outside_workspace"}} with input as of([path(false, false)])
}

test_one_outside_among_others_is_denied if {
	found := [path(true, false), path(false, false)]
	paths.deny == {{"reason_code": "path_outside_workspace"}} with input as of(found)
}

test_link_inside_is_denied if {
	paths.deny == {{"reason_code": "path_through_symlink"}} with input as of([path(true, true)])
}

test_link_to_the_outside_is_denied_twice if {
	count(paths.deny) == 2 with input as of([path(false, true)])
}
