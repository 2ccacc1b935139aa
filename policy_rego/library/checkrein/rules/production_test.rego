package checkrein.rules.production_test

import data.checkrein.rules.production

lists := {"names": ["live", "production"], "roles": ["release"], "irreversible_roles": ["operator"]}

of(environment, effect, roles) := {
	"actor": {"roles": roles},
	"action": {"environment": environment, "side_effect_class": effect},
}

asked := {{
	"reason_code": "production_change",
	"roles": ["release"],
	"separation_of_duty": true,
}}

denied := {{"reason_code": "production_irreversible"}}

test_a_change_is_asked_of_somebody_else if {
	every environment in ["production", "Production", "LIVE"] {
		production.ask == asked with input as of(environment, "REVERSIBLE", [])
			with data.checkrein.production as lists
		production.deny == set() with input as of(environment, "REVERSIBLE", [])
			with data.checkrein.production as lists
	}
}

test_an_irreversible_change_needs_a_role if {
	every roles in [[], ["approver"], ["Operator"], [1]] {
		production.deny == denied with input as of("production", "IRREVERSIBLE", roles)
			with data.checkrein.production as lists
	}
	production.deny == set() with input as of("production", "IRREVERSIBLE", ["a", "operator"])
		with data.checkrein.production as lists
	production.ask == asked with input as of("production", "IRREVERSIBLE", ["a", "operator"])
		with data.checkrein.production as lists
}

test_reading_production_is_left_alone if {
	production.ask == set() with input as of("production", "READ", []) with data.checkrein.production as lists
	production.deny == set() with input as of("production", "READ", []) with data.checkrein.production as lists
}

test_other_environments_are_left_alone if {
	every environment in [null, "staging", "production-copy", ""] {
		production.ask == set() with input as of(environment, "IRREVERSIBLE", [])
			with data.checkrein.production as lists
		production.deny == set() with input as of(environment, "IRREVERSIBLE", [])
			with data.checkrein.production as lists
	}
}

test_an_odd_environment_counts_as_production if {
	every environment in [1, true, ["staging"]] {
		production.ask == asked with input as of(environment, "REVERSIBLE", [])
			with data.checkrein.production as lists
	}
	production.ask == asked with input as {} with data.checkrein.production as lists
	production.deny == denied with input as {} with data.checkrein.production as lists
}

test_without_names_every_environment_counts_as_production if {
	production.ask == {object.union(asked_of("production_change"), {"roles": ["approver"]})} with input as of("staging", "REVERSIBLE", [])
		with data.checkrein.production as {}
	production.deny == denied with input as of("staging", "IRREVERSIBLE", ["operator"])
		with data.checkrein.production as {}
}

asked_of(code) := {"reason_code": code, "separation_of_duty": true}
