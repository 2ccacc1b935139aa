# METADATA
# title: Capabilities
# description: |
#   Only what the task grants and the bundle knows. The known names are data
#   (checkrein/known/data.json), so that a bundle of one's own brings a list of its own.
package checkrein.rules.capabilities

import future.keywords.not

# METADATA
# title: Capability not granted
# description: The task contract does not list the capability.
# custom:
#   reason_code: capability_not_granted
deny contains {"reason_code": "capability_not_granted"} if {
	not input.action.capability in input.task.capabilities
}

# METADATA
# title: Unknown capability
# description: The bundle has no rule for the capability, so that nobody has judged it yet.
# custom:
#   reason_code: unknown_capability
deny contains {"reason_code": "unknown_capability"} if {
	not input.action.capability in data.checkrein.known.capabilities
}
