package checkrein.rules.protected_test

import data.checkrein.rules.protected

import future.keywords.not

action(effect, segments) := {"action": {
	"side_effect_class": effect,
	"facts": {
		"paths": [{"param": "path", "segments": segments, "inside": true, "exists": true, "symlink": false}],
		"bytes": 0,
	},
}}

denied := {{"reason_code": "protected_path"}}

test_writes_are_denied if {
	every segments in [
		["tests", "test_a.py"],
		["src", "tests", "deep", "test_a.py"],
		["Tests", "a.py"],
		["teſts", "a.py"],
		["policy", "data.json"],
		["POLICY"],
		["rules", "a.rego"],
		["a.REGO"],
		[".git", "config"],
		["vendor", ".GIT", "hooks", "pre-commit"],
		[".env"],
		[".Env.local"],
		["deploy", ".env", "x"],
	] {
		protected.deny == denied with input as action("REVERSIBLE", segments)
	}
}

test_irreversible_writes_are_denied if {
	protected.deny == denied with input as action("IRREVERSIBLE", ["tests", "a.py"])
}

test_ordinary_writes_are_not_denied if {
	every segments in [
		["src", "a.py"],
		["src", "latest.py"],
		["contests", "a.py"],
		["docs", "policy.md"],
		["gitlog.txt"],
		["src", "env.py"],
		[],
	] {
		protected.deny == set() with input as action("REVERSIBLE", segments)
	}
}

test_tests_and_policies_may_be_read if {
	every segments in [["tests", "test_a.py"], ["policy", "a.rego"]] {
		protected.deny == set() with input as action("READ", segments)
	}
}

test_history_and_secrets_may_not_be_read if {
	every segments in [[".git", "config"], [".env"], [".ENV.production"], ["a", ".git"]] {
		protected.deny == denied with input as action("READ", segments)
	}
}

test_one_protected_path_among_others_is_denied if {
	plain := action("REVERSIBLE", ["src", "a.py"]).action.facts.paths
	tests := action("REVERSIBLE", ["tests", "a.py"]).action.facts.paths
	facts := {"paths": array.concat(plain, tests), "bytes": 0}
	protected.deny == denied with input as {"action": {"side_effect_class": "REVERSIBLE", "facts": facts}}
}
