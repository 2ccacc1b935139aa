package checkrein.rules.money_test

import data.checkrein.rules.money

lists := {
	"capabilities": ["payments.charge"],
	"currencies": {
		"EUR": {"allow_up_to": 1000, "ask_up_to": 50000},
		"JPY": {"allow_up_to": "1000"},
	},
	"roles": ["finance"],
	"quorum": 3,
	"limited": ["payments.charge"],
}

of(capability, facts) := {"action": {"capability": capability, "facts": facts}}

charge(amount, currency) := of("payments.charge", {"amount_minor": amount, "currency": currency})

denied(code) := {{"reason_code": code}}

test_a_small_amount_is_allowed_and_limited if {
	every amount in [0, 1, 1000] {
		money.allow == {{"reason_code": "amount_allowed"}} with input as charge(amount, "EUR")
			with data.checkrein.money as lists
		money.ask == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
		money.deny == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
		money.limit == {{"max_amount_minor": 50000}} with input as charge(amount, "EUR")
			with data.checkrein.money as lists
	}
}

test_a_larger_amount_is_asked if {
	every amount in [1001, 50000] {
		money.ask == {{"reason_code": "amount_needs_approval", "roles": ["finance"], "quorum": 3}} with input as charge(amount, "EUR")
			with data.checkrein.money as lists
		money.allow == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
		money.deny == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
	}
}

test_without_terms_two_approvers_are_asked if {
	plain := object.remove(lists, ["roles", "quorum"])
	money.ask == {{"reason_code": "amount_needs_approval", "roles": ["approver"], "quorum": 2}} with input as charge(1001, "EUR")
		with data.checkrein.money as plain
}

test_beyond_that_it_is_denied if {
	money.deny == denied("amount_too_large") with input as charge(50001, "EUR") with data.checkrein.money as lists
	money.ask == set() with input as charge(50001, "EUR") with data.checkrein.money as lists
	money.allow == set() with input as charge(50001, "EUR") with data.checkrein.money as lists
}

test_a_limit_that_is_no_number_denies if {
	money.deny == denied("amount_too_large") with input as charge(1, "JPY") with data.checkrein.money as lists
	money.allow == set() with input as charge(1, "JPY") with data.checkrein.money as lists
}

test_a_negative_amount_is_denied if {
	money.deny == denied("amount_negative") with input as charge(-1, "EUR") with data.checkrein.money as lists
}

test_an_unknown_amount_is_denied if {
	every amount in [null, "1", true, [1]] {
		money.deny == denied("amount_unknown") with input as charge(amount, "EUR") with data.checkrein.money as lists
		money.allow == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
		money.ask == set() with input as charge(amount, "EUR") with data.checkrein.money as lists
	}
	money.deny == denied("amount_unknown") with input as of("payments.charge", {"currency": "EUR"})
		with data.checkrein.money as lists
}

test_another_currency_is_denied if {
	every currency in ["USD", "eur", "", null, 978] {
		money.deny == denied("currency_not_listed") with input as charge(1, currency)
			with data.checkrein.money as lists
		money.allow == set() with input as charge(1, currency) with data.checkrein.money as lists
	}
	money.deny == denied("currency_not_listed") with input as of("payments.charge", {"amount_minor": 1})
		with data.checkrein.money as lists
}

test_another_capability_is_denied if {
	asked := of("other.pay", {"amount_minor": 1, "currency": "EUR"})
	money.deny == denied("money_capability_not_listed") with input as asked with data.checkrein.money as lists
	money.allow == set() with input as asked with data.checkrein.money as lists
	money.limit == set() with input as asked with data.checkrein.money as lists
}

test_no_facts_are_denied if {
	codes := {"money_capability_not_listed", "amount_unknown", "currency_not_listed"}
	found := money.deny with input as {} with data.checkrein.money as lists
	{member.reason_code | some member in found} == codes
}

test_what_moves_no_money_is_left_alone if {
	asked := of("workspace.read", {"amount_minor": null, "currency": null})
	every name in ["allow", "ask", "deny", "limit"] {
		money[name] == set() with input as asked with data.checkrein.money as lists
	}
}

test_without_lists_everything_is_denied if {
	codes := {"money_capability_not_listed", "currency_not_listed"}
	found := money.deny with input as charge(1, "EUR") with data.checkrein.money as {}
	{member.reason_code | some member in found} == codes
}
