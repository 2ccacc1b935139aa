# METADATA
# title: Allow everything
# description: Shows what still holds when a policy permits all.
# custom:
#   reason_code: allow_all
package checkrein.rules.allow_all

allow contains {"reason_code": "allow_all"}
