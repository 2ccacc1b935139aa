# METADATA
# title: Two answers at once
# description: A complete rule with two values for a read, and with one for everything else.
package checkrein.rules.conflict

level := "low" if input.phase == "propose"

level := "high" if input.action.capability == "workspace.read"

allow contains {"reason_code": "low_level"} if level == "low"
