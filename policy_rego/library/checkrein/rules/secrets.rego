# METADATA
# title: Secrets
# description: What looks like a credential does not leave, whoever it is sent to.
package checkrein.rules.secrets

import future.keywords.not

# METADATA
# title: Secret on its way out
# description: |
#   The arguments of something that is sent out hold what looks like a credential, or nobody has
#   looked.
# custom:
#   reason_code: secret_leaves
deny contains {"reason_code": "secret_leaves"} if {
	not input.action.egress == false
	not input.action.facts.secret_hits == 0
}
