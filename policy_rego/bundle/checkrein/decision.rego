# METADATA
# title: Decision
# description: |
#   Combines the members that every package checkrein.rules.<name> adds to the partial sets
#   allow, ask, deny and limit into one decision. It is part of Checkrein, added to every
#   bundle, and refused where it was changed.
#
#   Deny beats ask, ask beats allow, and where nothing allows the answer is DENY with
#   no_rule_allows. A member of another shape than the contract's is never left out: it denies
#   everything with policy_output_invalid, and `reasons` name the set and the package.
#
#   What a rule adds never softens what another one said. Several asks merge to the strictest: a role must
#   be acceptable to all of them, the largest quorum, the shortest time, separation of duty if
#   one wants it. Several limits of one name merge to the strictest: the smallest number, the
#   items that all lists share, all fields to redact. Where no role or item is left, or two
#   sandbox profiles are named, the answer is DENY.
#
#   Where a person's yes stands for more than one action (input.permissions), an ask names the one
#   within whose bounds this action lies, as covered_by; it is offered only by asks that all say
#   so in `scopes`.
# entrypoint: true
package checkrein

import future.keywords.not

default decision := {
	"decision": "DENY",
	"reason_code": "no_rule_allows",
	"reasons": ["no_rule_allows"],
	"constraints": {},
	"approval": null,
	"obligations": [],
}

# The four answers exclude each other by their conditions; what fits none of them is the default.
decision := answer("DENY", denials, {}, null) if count(denials) > 0

decision := object.union(answer("REQUIRE_APPROVAL", codes(asks), constraints, approval), coverage) if {
	count(denials) == 0
	count(asks) > 0
}

decision := answer("CONSTRAINED_ALLOW", codes(allows), constraints, null) if {
	count(denials) == 0
	count(asks) == 0
	count(allows) > 0
	count(constraints) > 0
}

decision := answer("ALLOW", codes(allows), {}, null) if {
	count(denials) == 0
	count(asks) == 0
	count(allows) > 0
	count(constraints) == 0
}

answer(verdict, reasons, limits, terms) := {
	"decision": verdict,
	"reason_code": reasons[0],
	"reasons": array.slice(reasons, 0, 32),
	"constraints": limits,
	"approval": terms,
	"obligations": [],
}

# ---- why nothing may happen: what is malformed first, so that it is seen ------------------------
denials := array.concat(malformed_codes, sort(codes_of(denies) | conflicts))

malformed_codes := array.concat(["policy_output_invalid"], sort(malformed_places)) if count(malformed) > 0

malformed_codes := [] if count(malformed) == 0

malformed_places contains code if {
	some place in malformed
	code := concat("_", ["malformed", place[0], "in", place[1]])
	is_code(code)
}

malformed contains ["allow", name] if {
	members := data.checkrein.rules[name].allow
	not all_plain(members)
}

malformed contains ["ask", name] if {
	members := data.checkrein.rules[name].ask
	not all_asks(members)
}

malformed contains ["deny", name] if {
	members := data.checkrein.rules[name].deny
	not all_plain(members)
}

malformed contains ["limit", name] if {
	members := data.checkrein.rules[name].limit
	not all_limits(members)
}

# ---- the well-formed members of all packages ----------------------------------------------------
allows contains member if {
	members := data.checkrein.rules[_].allow
	all_plain(members)
	some member in members
}

asks contains member if {
	members := data.checkrein.rules[_].ask
	all_asks(members)
	some member in members
}

denies contains member if {
	members := data.checkrein.rules[_].deny
	all_plain(members)
	some member in members
}

limits contains member if {
	members := data.checkrein.rules[_].limit
	all_limits(members)
	some member in members
}

codes_of(members) := {member.reason_code | some member in members}

codes(members) := sort(codes_of(members))

# ---- the shape of a member ----------------------------------------------------------------------
all_plain(members) if {
	is_set(members)
	every member in members {
		is_object(member)
		object.keys(member) == {"reason_code"}
		is_own_code(member.reason_code)
	}
}

all_asks(members) if {
	is_set(members)
	every member in members {
		is_object(member)
		count(object.keys(member) - ask_keys) == 0
		is_own_code(member.reason_code)
		is_terms(object.union(default_terms, member))
	}
}

all_limits(members) if {
	is_set(members)
	every member in members {
		is_object(member)
		count(member) == 1
		every name, value in member {
			is_limit(name, value)
		}
	}
}

# Reason codes that only Checkrein itself gives; a rule that took one would hide a fault.
reserved_codes := {
	"constraint_unavailable",
	"constraints_changed",
	"policy_error",
	"policy_input_invalid",
	"policy_output_invalid",
	"policy_revision_mismatch",
	"policy_timeout",
	"policy_unavailable",
	"policy_undefined",
	"preview_unavailable",
	"revoked",
}

is_code(code) if {
	is_string(code)
	regex.match(`^[a-z][a-z0-9_]{1,63}$`, code)
}

is_own_code(code) if {
	is_code(code)
	not code in reserved_codes
}

is_whole(value, low, high) if {
	is_number(value)
	value == floor(value)
	value >= low
	value <= high
}

is_texts(value) if {
	is_array(value)
	count(value) > 0
	every item in value {
		is_string(item)
		item != ""
	}
}

# ---- approval: what several asks come to --------------------------------------------------------
ask_keys := {"reason_code", "roles", "quorum", "expires_in_s", "separation_of_duty", "scopes"}

default_terms := {
	"roles": ["approver"],
	"quorum": 1,
	"expires_in_s": 86400,
	"separation_of_duty": false,
	"scopes": ["once"],
}

is_terms(terms) if {
	is_texts(terms.roles)
	count(terms.roles) <= 16
	is_whole(terms.quorum, 1, 5)
	is_whole(terms.expires_in_s, 30, 2592000)
	is_boolean(terms.separation_of_duty)
	is_texts(terms.scopes)
	every scope in terms.scopes {
		scope in {"once", "task", "class"}
	}
}

asked_terms := {object.union(default_terms, ask) | some ask in asks}

shared_roles := intersection({{role | some role in terms.roles} | some terms in asked_terms})

approval := object.union(least_terms, {"scopes": sort(shared_scopes)}) if shared_scopes != {"once"}

approval := least_terms if shared_scopes == {"once"}

shared_scopes := {"once"} | intersection({{scope | some scope in terms.scopes} | some terms in asked_terms})

least_terms := {
	"roles": sort(shared_roles),
	"quorum": max({terms.quorum | some terms in asked_terms}),
	"expires_in_s": min({terms.expires_in_s | some terms in asked_terms}),
	"separation_of_duty": true in {terms.separation_of_duty | some terms in asked_terms},
} if {
	count(asks) > 0
}

conflicts contains "approval_roles_conflict" if {
	count(asks) > 0
	count(shared_roles) == 0
}

# ---- a yes that stands: whether this action lies within it --------------------------------------
coverage := {"covered_by": min(covering)} if count(covering) > 0

coverage := {} if count(covering) == 0

covering contains permission.permission_id if {
	some permission in input.permissions
	permission.scope in shared_scopes
	permission.capability == input.action.type
	object.keys(permission.args) == object.keys(input.action.args)
	every name, value in input.action.args {
		within(permission, name, value)
	}
}

within(permission, name, value) if {
	not name in object.keys(permission.bounds)
	value == permission.args[name]
}

within(permission, name, value) if {
	bound := permission.bounds[name]
	is_number(value)
	is_number(bound.at_least)
	is_number(bound.at_most)
	value >= bound.at_least
	value <= bound.at_most
}

within(permission, name, value) if {
	bound := permission.bounds[name]
	is_array(bound.one_of)
	value in bound.one_of
}

within(permission, name, value) if {
	bound := permission.bounds[name]
	is_array(bound.below)
	is_string(value)
	some path in input.action.facts.paths
	path.param == name
	path.inside == true
	path.symlink == false
	array.slice(path.segments, 0, count(bound.below)) == bound.below
	count(path.segments) > count(bound.below)
}

# ---- constraints: what several limits come to ---------------------------------------------------
number_bounds := {
	"max_bytes": [0, 9007199254740991],
	"max_rows": [0, 9007199254740991],
	"max_amount_minor": [0, 9007199254740991],
	"timeout_ms": [1, 600000],
}

is_limit(name, value) if {
	bounds := number_bounds[name]
	is_whole(value, bounds[0], bounds[1])
}

is_limit(name, value) if {
	name in {"read_only", "dry_run"}
	value == true
}

is_limit(name, value) if {
	name in {"path_roots", "hosts", "methods", "redact"}
	is_texts(value)
}

is_limit("sandbox_profile", value) if {
	is_string(value)
	value != ""
}

limited contains name if {
	some limit in limits
	some name, _ in limit
}

values_of(name) := {limit[name] | some limit in limits}

lists_of(name) := {{item | some item in list} | some list in values_of(name)}

constraints := {name: strictest(name) | some name in limited}

strictest(name) := min(values_of(name)) if number_bounds[name]

strictest(name) if name in {"read_only", "dry_run"}

strictest(name) := sort(shared) if {
	name in {"path_roots", "hosts", "methods"}
	shared := intersection(lists_of(name))
	count(shared) > 0
}

strictest(name) := sort(union(lists_of(name))) if name == "redact"

strictest(name) := profile if {
	name == "sandbox_profile"
	values := values_of(name)
	count(values) == 1
	some profile in values
}

conflicts contains "limits_conflict" if {
	some name in limited
	not strictest(name)
}
