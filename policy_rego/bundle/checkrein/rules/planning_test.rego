package checkrein.rules.planning_test

import data.checkrein.rules.planning

of(effect, plan_mode) := {"task": {"plan_mode": plan_mode}, "action": {"side_effect_class": effect}}

denied := {{"reason_code": "plan_mode"}}

test_changes_are_denied if {
	every effect in ["REVERSIBLE", "IRREVERSIBLE"] {
		planning.deny == denied with input as of(effect, true)
	}
}

test_a_plan_is_asked_about if {
	handed_in := {"task": {"plan_mode": true}, "action": {"capability": "plan.submit"}}
	planning.ask == {{"reason_code": "plan_submitted"}} with input as handed_in
}

test_no_plan_is_wanted_outside_of_plan_mode if {
	late := {"task": {"plan_mode": false}, "action": {"capability": "plan.submit"}}
	planning.ask == set() with input as late
}

test_a_result_is_asked_about if {
	planning.ask == {{"reason_code": "result_submitted"}} with input as {"action": {"capability": "result.submit"}}
}

test_reading_goes_on if {
	planning.deny == set() with input as of("READ", true)
}

test_out_of_plan_mode_it_is_left_alone if {
	every effect in ["READ", "REVERSIBLE", "IRREVERSIBLE"] {
		planning.deny == set() with input as of(effect, false)
	}
}

test_what_is_not_known_counts_as_so if {
	every odd in [null, "false", 0] {
		planning.deny == denied with input as of("REVERSIBLE", odd)
	}
	planning.deny == denied with input as of("OTHER", true)
	planning.deny == denied with input as {}
}
