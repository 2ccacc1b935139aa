# METADATA
# title: Work inside the workspace
# description: |
#   Reading needs nobody's consent, writing needs a person's. Both hold only for paths that the
#   harness has resolved: at least one, every one inside the workspace, none through a link.
package checkrein.rules.workspace

reading := {"workspace.list", "workspace.read"}

writing := {"workspace.apply_patch", "workspace.write_file"}

# METADATA
# title: Read in the workspace
# description: Files and folders inside the workspace may be read.
# custom:
#   reason_code: read_in_workspace
allow contains {"reason_code": "read_in_workspace"} if {
	input.action.capability in reading
	input.action.side_effect_class == "READ"
	all_inside
}

# METADATA
# title: Write in the workspace
# description: A change to files inside the workspace needs an approval.
# custom:
#   reason_code: workspace_write
ask contains {"reason_code": "workspace_write"} if {
	input.action.capability in writing
	all_inside
}

# METADATA
# title: Command in a copy of the workspace
# description: A command may reach the network and this user's files, so a person looks at its words.
# custom:
#   reason_code: workspace_command
ask contains {"reason_code": "workspace_command"} if {
	input.action.capability == "workspace.run_command"
	all_inside
}

# An action that names no path at all is not inside: `every` alone would hold for it.
all_inside if {
	count(input.action.facts.paths) > 0
	every path in input.action.facts.paths {
		path.inside == true
		path.symlink == false
	}
}
