package checkrein.rules.stages_test

import data.checkrein.rules.stages

lists := {"capabilities": {"plan": ["a.read"], "execute": ["a.read", "a.write"], "closed": []}}

of(stage, capability) := {"task": {"stage": stage}, "action": {"capability": capability}}

denied(code) := {{"reason_code": code}}

test_what_is_listed_is_left_alone if {
	every asked in [of("plan", "a.read"), of("execute", "a.read"), of("execute", "a.write")] {
		stages.deny == set() with input as asked with data.checkrein.stages as lists
	}
}

test_what_is_not_listed_for_the_stage_is_denied if {
	every asked in [of("plan", "a.write"), of("closed", "a.read"), of("execute", "b.read")] {
		stages.deny == denied("not_in_this_stage") with input as asked with data.checkrein.stages as lists
	}
}

test_an_unknown_stage_is_denied if {
	every stage in ["Plan", "", null, 1] {
		stages.deny == denied("stage_unknown") with input as of(stage, "a.read") with data.checkrein.stages as lists
	}
}

test_no_facts_are_denied if {
	stages.deny == denied("stage_unknown") with input as {} with data.checkrein.stages as lists
	stages.deny == denied("not_in_this_stage") with input as {"task": {"stage": "plan"}}
		with data.checkrein.stages as lists
}

test_without_lists_everything_is_denied if {
	stages.deny == denied("stage_unknown") with input as of("plan", "a.read") with data.checkrein.stages as {}
}
