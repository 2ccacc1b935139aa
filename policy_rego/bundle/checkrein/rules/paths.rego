# METADATA
# title: Paths stay inside the workspace
# description: |
#   Holds for every capability, whatever else allows it. The harness has followed all links
#   before; these rules see where a path really leads.
package checkrein.rules.paths

# METADATA
# title: Path outside the workspace
# description: A path that leads out of the workspace is denied.
# custom:
#   reason_code: path_outside_workspace
deny contains {"reason_code": "path_outside_workspace"} if {
	some path in input.action.facts.paths
	path.inside == false
}

# METADATA
# title: Path through a link
# description: |
#   A path through a symbolic link is denied even where it ends inside the workspace: by the
#   time that it is followed it may lead elsewhere.
# custom:
#   reason_code: path_through_symlink
deny contains {"reason_code": "path_through_symlink"} if {
	some path in input.action.facts.paths
	path.symlink == true
}
