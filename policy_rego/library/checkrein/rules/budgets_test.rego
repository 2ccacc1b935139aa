package checkrein.rules.budgets_test

import data.checkrein.rules.budgets

numbers := {"tool_calls_kept": 3, "most_denials": 5}

of(effect, left, denials) := {
	"attempt": {"prior_denials": denials},
	"action": {"side_effect_class": effect, "egress": false},
	"budget": {"tool_calls": left},
}

asked := {{"reason_code": "few_calls_left"}}

denied := {{"reason_code": "too_many_denials"}}

test_with_enough_left_nothing_is_asked if {
	every effect in ["READ", "REVERSIBLE", "IRREVERSIBLE"] {
		budgets.ask == set() with input as of(effect, 3, 0) with data.checkrein.budgets as numbers
		budgets.deny == set() with input as of(effect, 3, 4) with data.checkrein.budgets as numbers
	}
}

test_near_the_end_what_cannot_be_undone_is_asked if {
	budgets.ask == asked with input as of("IRREVERSIBLE", 2, 0) with data.checkrein.budgets as numbers
	budgets.ask == set() with input as of("REVERSIBLE", 0, 0) with data.checkrein.budgets as numbers
	budgets.ask == set() with input as of("READ", 0, 0) with data.checkrein.budgets as numbers
}

test_an_unknown_budget_is_a_small_one if {
	every left in [null, "9", true] {
		budgets.ask == asked with input as of("IRREVERSIBLE", left, 0) with data.checkrein.budgets as numbers
	}
	budgets.ask == asked with input as {"budget": {}} with data.checkrein.budgets as numbers
}

test_after_many_denials_changes_are_denied if {
	every effect in ["REVERSIBLE", "IRREVERSIBLE"] {
		budgets.deny == denied with input as of(effect, 9, 5) with data.checkrein.budgets as numbers
	}
}

test_after_many_denials_it_may_read_but_send_nothing_out if {
	budgets.deny == set() with input as of("READ", 9, 5) with data.checkrein.budgets as numbers
	sent := object.union(of("READ", 9, 5), {"action": {"egress": true}})
	budgets.deny == denied with input as sent with data.checkrein.budgets as numbers
}

test_an_unknown_number_of_denials_is_a_large_one if {
	every denials in [null, "0", false] {
		budgets.deny == denied with input as of("REVERSIBLE", 9, denials) with data.checkrein.budgets as numbers
	}
	budgets.deny == denied with input as {} with data.checkrein.budgets as numbers
}

test_without_numbers_it_is_strict if {
	budgets.ask == asked with input as of("IRREVERSIBLE", 9, 0) with data.checkrein.budgets as {}
	budgets.deny == denied with input as of("REVERSIBLE", 9, 0) with data.checkrein.budgets as {}
}
