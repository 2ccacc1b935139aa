# METADATA
# title: Production
# description: |
#   What acts on production is approved by somebody else than who asked for it, and what cannot be
#   undone needs a role besides. Data in checkrein/production/data.json: `names` of environments that
#   count as production, compared without regard to case; `roles` that may approve;
#   `irreversible_roles`, one of which the person behind the task must have. An environment that is
#   no text, or data without `names`, counts as production; an action without an environment
#   does not.
package checkrein.rules.production

import future.keywords.not

# METADATA
# title: Change of production
# description: A change of production needs an approval by another person than the requester.
# custom:
#   reason_code: production_change
ask contains {"reason_code": "production_change", "roles": roles, "separation_of_duty": true} if {
	not elsewhere
	not input.action.side_effect_class == "READ"
}

# METADATA
# title: Irreversible change of production
# description: It cannot be undone, and the person behind it has none of `irreversible_roles`.
# custom:
#   reason_code: production_irreversible
deny contains {"reason_code": "production_irreversible"} if {
	not elsewhere
	not input.action.side_effect_class in {"READ", "REVERSIBLE"}
	not has_role
}

elsewhere if is_null(input.action.environment)

elsewhere if {
	is_string(input.action.environment)
	is_array(data.checkrein.production.names)
	not lower(input.action.environment) in data.checkrein.production.names
}

has_role if {
	some role in input.actor.roles
	role in data.checkrein.production.irreversible_roles
}

default roles := ["approver"]

roles := data.checkrein.production.roles
