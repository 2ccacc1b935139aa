# METADATA
# title: What holds for every action
# description: Whatever another package allows, these deny.
package checkrein.rules.basics

import future.keywords.not

# METADATA
# title: Capability not granted
# description: The task does not list the capability.
# custom:
#   reason_code: capability_not_granted
deny contains {"reason_code": "capability_not_granted"} if {
	not input.action.capability in input.task.capabilities
}

# METADATA
# title: Unknown capability
# description: Nobody has written a rule for it yet. Add the ones that you know to known/data.json.
# custom:
#   reason_code: unknown_capability
deny contains {"reason_code": "unknown_capability"} if {
	not input.action.capability in data.known.capabilities
}

# METADATA
# title: Path outside the workspace
# description: A path that leads out of the workspace, or through a link, is denied.
# custom:
#   reason_code: path_outside_workspace
deny contains {"reason_code": "path_outside_workspace"} if {
	some path in input.action.facts.paths
	leads_away(path)
}

# METADATA
# title: Protected path
# description: What judges the work, or holds secrets, is not changed by the work.
# custom:
#   reason_code: protected_path
deny contains {"reason_code": "protected_path"} if {
	input.action.side_effect_class != "READ"
	some path in input.action.facts.paths
	some segment in path.segments
	lower(segment) in data.known.protected
}

leads_away(path) if path.inside == false

leads_away(path) if path.symlink == true
