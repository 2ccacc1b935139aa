# METADATA
# title: Work in the workspace
# description: Reading needs nobody's consent, writing needs a person's. Start here.
package checkrein.rules.work

# METADATA
# title: Read in the workspace
# description: Files and folders inside the workspace may be read.
# custom:
#   reason_code: read_in_workspace
allow contains {"reason_code": "read_in_workspace"} if {
	input.action.capability in {"workspace.list", "workspace.read"}
	input.action.side_effect_class == "READ"
}

# METADATA
# title: Write in the workspace
# description: A change to files needs an approval, by somebody who has the role approver.
# custom:
#   reason_code: write_in_workspace
ask contains {"reason_code": "write_in_workspace", "roles": ["approver"]} if {
	input.action.capability in {"workspace.apply_patch", "workspace.write_file"}
}
