# METADATA
# title: Money
# description: |
#   Small amounts run, larger ones are asked, beyond that nothing runs: by currency, in its smallest
#   unit. Holds for every action with an amount or a currency. Data in checkrein/money/data.json:
#   `capabilities` that may move money; `currencies`, each with `allow_up_to` and `ask_up_to`;
#   `roles` and `quorum` of an approval; `limited`, those capabilities whose executor enforces the
#   limit `max_amount_minor` too.
package checkrein.rules.money

import future.keywords.not

# METADATA
# title: Small amount
# description: At most `allow_up_to` of its currency.
# custom:
#   reason_code: amount_allowed
allow contains {"reason_code": "amount_allowed"} if is_small

# METADATA
# title: Larger amount
# description: More than `allow_up_to` and at most `ask_up_to`; `roles` and `quorum` are asked.
# custom:
#   reason_code: amount_needs_approval
ask contains {"reason_code": "amount_needs_approval", "roles": roles, "quorum": quorum} if {
	may_be_asked
	not is_small
}

# METADATA
# title: Amount, held at the executor
# description: The most that anybody could permit in this currency goes along to the executor.
limit contains {"max_amount_minor": most.ask_up_to} if {
	input.action.capability in data.checkrein.money.limited
}

# METADATA
# title: Money by another capability
# description: Something moves money and is not among `capabilities`.
# custom:
#   reason_code: money_capability_not_listed
deny contains {"reason_code": "money_capability_not_listed"} if {
	moves_money
	not input.action.capability in data.checkrein.money.capabilities
}

# METADATA
# title: Amount unknown
# description: The harness could not tell how much it is.
# custom:
#   reason_code: amount_unknown
deny contains {"reason_code": "amount_unknown"} if {
	moves_money
	not is_number(input.action.facts.amount_minor)
}

# METADATA
# title: Negative amount
# description: Less than nothing would pass below every limit.
# custom:
#   reason_code: amount_negative
deny contains {"reason_code": "amount_negative"} if {
	is_number(input.action.facts.amount_minor)
	input.action.facts.amount_minor < 0
}

# METADATA
# title: Currency not on the list
# description: No currency is named, or one that has no limits in the data.
# custom:
#   reason_code: currency_not_listed
deny contains {"reason_code": "currency_not_listed"} if {
	moves_money
	not most
}

# METADATA
# title: Amount too large
# description: More than `ask_up_to`, so that nobody can approve it, or no such number in the data.
# custom:
#   reason_code: amount_too_large
deny contains {"reason_code": "amount_too_large"} if {
	is_number(input.action.facts.amount_minor)
	most
	not at_most(most.ask_up_to)
}

moves_money if input.action.capability in data.checkrein.money.capabilities

moves_money if not is_null(input.action.facts.amount_minor)

moves_money if not is_null(input.action.facts.currency)

most := data.checkrein.money.currencies[input.action.facts.currency]

is_small if {
	may_be_asked
	at_most(most.allow_up_to)
}

may_be_asked if {
	input.action.capability in data.checkrein.money.capabilities
	at_most(most.ask_up_to)
}

at_most(limit) if {
	is_number(limit)
	is_number(input.action.facts.amount_minor)
	input.action.facts.amount_minor <= limit
}

default roles := ["approver"]

roles := data.checkrein.money.roles

default quorum := 2

quorum := data.checkrein.money.quorum
