# METADATA
# title: Final commit
# description: |
#   What was verified is handed over by the task's commit authority, in an attempt that has this one
#   purpose and no model. Nobody else publishes, and no work does it on the way.
package checkrein.rules.commit

import future.keywords.not

# METADATA
# title: Commit by the authority
# description: The commit authority publishes what was verified.
# custom:
#   reason_code: final_commit
allow contains {"reason_code": "final_commit"} if {
	input.action.capability == "workspace.publish"
	by_authority
}

# METADATA
# title: Publication by somebody else
# description: A publication that is no final commit by the commit authority is denied.
# custom:
#   reason_code: commit_authority_only
deny contains {"reason_code": "commit_authority_only"} if {
	input.action.capability == "workspace.publish"
	not by_authority
}

by_authority if {
	input.attempt.purpose == "commit"
	is_string(input.task.commit_authority)
	is_authority
}

# A name, or a role of the task's people.
is_authority if input.actor.user == input.task.commit_authority

is_authority if input.actor.roles[_] == input.task.commit_authority
