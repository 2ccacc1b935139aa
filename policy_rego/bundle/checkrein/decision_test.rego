package checkrein.decision_test

import data.checkrein

action(capability, effect, segments) := {
	"task": {
		"capabilities": ["workspace.read", "workspace.list", "workspace.write_file", "shell.run"],
		"plan_mode": false,
	},
	"provenance": {"lowest_trust": "workspace", "untrusted": false, "private": false},
	"action": {
		"egress": false,
		"capability": capability,
		"side_effect_class": effect,
		"facts": {
			"paths": [{"param": "path", "segments": segments, "inside": true, "exists": true, "symlink": false}],
			"bytes": 0,
		},
	},
}

test_read_is_allowed if {
	checkrein.decision == {
		"decision": "ALLOW",
		"reason_code": "read_in_workspace",
		"reasons": ["read_in_workspace"],
		"constraints": {},
		"approval": null,
		"obligations": [],
	} with input as action("workspace.read", "READ", ["src", "a.py"])
}

test_write_needs_an_approval if {
	checkrein.decision == {
		"decision": "REQUIRE_APPROVAL",
		"reason_code": "workspace_write",
		"reasons": ["workspace_write"],
		"constraints": {},
		"approval": {
			"roles": ["approver"],
			"quorum": 1,
			"expires_in_s": 86400,
			"separation_of_duty": false,
		},
		"obligations": [],
	} with input as action("workspace.write_file", "REVERSIBLE", ["src", "a.py"])
}

test_after_untrusted_content_the_same_write_has_one_more_reason if {
	tainted := {"provenance": {"lowest_trust": "external", "untrusted": true}}
	write := object.union(action("workspace.write_file", "REVERSIBLE", ["src", "a.py"]), tainted)
	found := checkrein.decision with input as write
	found.decision == "REQUIRE_APPROVAL"
	found.reasons == ["workspace_write", "write_after_untrusted"]
	found.approval.roles == ["approver"]
}

test_plan_mode_denies_the_same_write if {
	planned := {"task": {"plan_mode": true}}
	write := object.union(action("workspace.write_file", "REVERSIBLE", ["src", "a.py"]), planned)
	found := checkrein.decision with input as write
	found.decision == "DENY"
	found.reasons == ["plan_mode"]
}

test_deny_beats_ask if {
	found := checkrein.decision with input as action("workspace.write_file", "REVERSIBLE", ["tests", "a.py"])
	found.decision == "DENY"
	found.reasons == ["protected_path"]
	found.approval == null
}

test_unknown_is_denied if {
	found := checkrein.decision with input as action("shell.run", "IRREVERSIBLE", ["src"])
	found.decision == "DENY"
	found.reason_code == "unknown_capability"
}

test_what_no_rule_allows_is_denied if {
	found := checkrein.decision with input as action("workspace.read", "REVERSIBLE", ["src"])
	found.decision == "DENY"
	found.reason_code == "no_rule_allows"
}

test_no_input_is_denied if {
	checkrein.decision.decision == "DENY" with input as {}
}

# ---- combining: the members of one package of rules, in place of the shipped ones ---------------
combined(allow, ask, deny, limit) := found if {
	found := checkrein.decision with data.checkrein.rules as {"x": {
		"allow": allow,
		"ask": ask,
		"deny": deny,
		"limit": limit,
	}}
}

none := set()

plain := {{"reason_code": "some_reason"}}

test_no_member_at_all_is_denied if {
	combined(none, none, none, none).reason_code == "no_rule_allows"
}

test_deny_beats_everything if {
	found := combined(plain, plain, {{"reason_code": "denied"}}, none)
	found.decision == "DENY"
	found.reasons == ["denied"]
}

test_ask_beats_allow if {
	combined(plain, {{"reason_code": "asked"}}, none, none).decision == "REQUIRE_APPROVAL"
}

test_limit_alone_allows_nothing if {
	combined(none, none, none, {{"max_rows": 1}}).decision == "DENY"
}

test_limits_merge_to_the_strictest if {
	found := combined(plain, none, none, {
		{"max_bytes": 10},
		{"max_bytes": 9},
		{"hosts": ["a", "b", "c"]},
		{"hosts": ["b", "c", "d"]},
		{"redact": ["x"]},
		{"redact": ["y"]},
		{"read_only": true},
		{"sandbox_profile": "strict"},
	})
	found.decision == "CONSTRAINED_ALLOW"
	found.constraints == {
		"max_bytes": 9,
		"hosts": ["b", "c"],
		"redact": ["x", "y"],
		"read_only": true,
		"sandbox_profile": "strict",
	}
}

test_limits_that_leave_nothing_are_denied if {
	every limits in [
		{{"hosts": ["a"]}, {"hosts": ["b"]}},
		{{"sandbox_profile": "a"}, {"sandbox_profile": "b"}},
	] {
		combined(plain, none, none, limits).reasons == ["limits_conflict"]
	}
}

test_asks_merge_to_the_strictest if {
	found := combined(
		plain, {
			{"reason_code": "first", "roles": ["a", "b"], "quorum": 2, "expires_in_s": 60},
			{"reason_code": "second", "roles": ["b", "c"], "separation_of_duty": true},
		},
		none, {{"max_rows": 1}},
	)
	found.decision == "REQUIRE_APPROVAL"
	found.reasons == ["first", "second"]
	found.approval == {"roles": ["b"], "quorum": 2, "expires_in_s": 60, "separation_of_duty": true}
	found.constraints == {"max_rows": 1}
}

test_asks_that_nobody_can_answer_are_denied if {
	found := combined(none, {{"reason_code": "first", "roles": ["a"]}, {"reason_code": "second"}}, none, none)
	found.reasons == ["approval_roles_conflict"]
}

test_malformed_members_deny_everything if {
	malformed_plain := [1, "text", null, {}, {"reason_code": "X"}, {"reason_code": "a_b", "more": 1}, {"reason_code": "policy_error"}]
	every member in malformed_plain {
		combined({member}, none, none, none).reasons == ["policy_output_invalid", "malformed_allow_in_x"]
		combined(plain, none, {member}, none).reasons == ["policy_output_invalid", "malformed_deny_in_x"]
		combined(plain, {member}, none, none).reasons == ["policy_output_invalid", "malformed_ask_in_x"]
	}
}

test_malformed_terms_deny_everything if {
	every terms in [
		{"roles": []},
		{"roles": "approver"},
		{"roles": [""]},
		{"quorum": 0},
		{"quorum": 6},
		{"quorum": true},
		{"expires_in_s": 29},
		{"expires_in_s": "60"},
		{"separation_of_duty": null},
		{"role": ["approver"]},
	] {
		ask := object.union({"reason_code": "asked"}, terms)
		combined(plain, {ask}, none, none).reason_code == "policy_output_invalid"
	}
}

test_malformed_limits_deny_everything if {
	every member in [
		{},
		{"max_bytes": 1, "max_rows": 1},
		{"max_byte": 1},
		{"max_bytes": -1},
		{"max_bytes": "1"},
		{"max_bytes": null},
		{"timeout_ms": 0},
		{"read_only": false},
		{"hosts": []},
		{"hosts": "a"},
		{"sandbox_profile": ""},
	] {
		combined(plain, none, none, {member}).reason_code == "policy_output_invalid"
	}
}

test_a_set_of_another_type_denies_everything if {
	every value in [true, false, null, 1, "text", ["list"], {"an": "object"}] {
		combined(value, none, none, none).reason_code == "policy_output_invalid"
		combined(plain, none, value, none).reason_code == "policy_output_invalid"
	}
}

# ---- a yes that stands for more than one action ------------------------------------------------
payment := {
	"task": {"capabilities": ["till.pay"], "plan_mode": false},
	"provenance": {"lowest_trust": "workspace", "untrusted": false, "private": false},
	"action": {
		"capability": "till.pay",
		"type": "till.pay@1",
		"side_effect_class": "IRREVERSIBLE",
		"args": {"to": "acme", "amount": 500, "path": "out/a.txt"},
		"facts": {"paths": [{"param": "path", "segments": ["out", "a.txt"], "inside": true, "exists": true, "symlink": false}]},
	},
}

asks_for(scopes) := {"till": {"ask": {{"reason_code": "pays", "scopes": scopes}}}}

permitted(bounds) := object.union(payment, {"permissions": [{
	"permission_id": "apr_1",
	"capability": "till.pay@1",
	"args": {"to": "acme", "amount": 400, "path": "out/b.txt"},
	"bounds": bounds,
	"scope": "class",
	"given_by": "bob",
}]})

wide := {"amount": {"at_least": 1, "at_most": 500, "one_of": null, "below": null}, "path": {"at_least": null, "at_most": null, "one_of": null, "below": ["out"]}}

covered(document, scopes) := object.get(found, "covered_by", "nothing") if {
	found := checkrein.decision with input as document with data.checkrein.rules as asks_for(scopes)
	found.decision == "REQUIRE_APPROVAL"
}

test_a_permission_covers_what_lies_within_it if {
	covered(permitted(wide), ["once", "class"]) == "apr_1"
}

test_an_ask_that_offers_no_class_is_covered_by_none if {
	covered(permitted(wide), ["once", "task"]) == "nothing"
	covered(payment, ["once", "class"]) == "nothing"
}

test_an_argument_without_a_bound_must_be_the_same if {
	every bounds in [{}, {"amount": wide.amount}, {"path": wide.path}] {
		covered(permitted(bounds), ["once", "class"]) == "nothing"
	}
}

test_a_bound_holds_at_its_ends_and_not_beyond if {
	every pair in [[500, "apr_1"], [1, "apr_1"], [501, "nothing"], [0, "nothing"], ["500", "nothing"], [null, "nothing"], [true, "nothing"]] {
		changed := object.union(permitted(wide), {"action": {"args": {"amount": pair[0]}}})
		covered(changed, ["once", "class"]) == pair[1]
	}
}

test_a_list_holds_its_items_alone if {
	listed := object.union(wide, {"amount": {"at_least": null, "at_most": null, "one_of": [500, 600], "below": null}})
	covered(permitted(listed), ["once", "class"]) == "apr_1"
	changed := object.union(permitted(listed), {"action": {"args": {"amount": 550}}})
	covered(changed, ["once", "class"]) == "nothing"
}

test_a_path_lies_below_or_is_not_covered if {
	every path in [
		{"param": "path", "segments": ["out"], "inside": true, "symlink": false},
		{"param": "path", "segments": ["other", "a.txt"], "inside": true, "symlink": false},
		{"param": "path", "segments": ["out", "a.txt"], "inside": false, "symlink": false},
		{"param": "path", "segments": ["out", "a.txt"], "inside": true, "symlink": true},
		{"param": "other", "segments": ["out", "a.txt"], "inside": true, "symlink": false},
	] {
		changed := object.union(permitted(wide), {"action": {"facts": {"paths": [path]}}})
		covered(changed, ["once", "class"]) == "nothing"
	}
}

test_more_or_other_arguments_are_not_covered if {
	more := object.union(permitted(wide), {"action": {"args": {"fee": 1}}})
	covered(more, ["once", "class"]) == "nothing"
	other := object.union(permitted(wide), {"action": {"type": "till.pay@2"}})
	covered(other, ["once", "class"]) == "nothing"
}

test_scopes_are_those_that_all_asks_offer if {
	both := {
		"one": {"ask": {{"reason_code": "one", "scopes": ["once", "task", "class"]}}},
		"two": {"ask": {{"reason_code": "two", "scopes": ["task"]}}},
	}
	found := checkrein.decision with input as payment with data.checkrein.rules as both
	found.approval.scopes == ["once", "task"]
}

test_an_unknown_scope_is_malformed if {
	found := checkrein.decision with input as payment with data.checkrein.rules as asks_for(["forever"])
	found.decision == "DENY"
	found.reasons[0] == "policy_output_invalid"
}
