# METADATA
# title: Protected paths
# description: |
#   What judges the work is not changed by the work: tests and policies. What holds history or
#   secrets is neither changed nor read: .git and .env files. Everything below such a folder is
#   protected with it. Names are compared without regard to case, since some file systems do so.
package checkrein.rules.protected

# METADATA
# title: Protected path
# description: A write to a protected path is denied, and so is a read of .git and .env files.
# custom:
#   reason_code: protected_path
deny contains {"reason_code": "protected_path"} if {
	input.action.side_effect_class != "READ"
	some path in input.action.facts.paths
	some segment in path.segments
	is_unwritable(fold(segment))
}

deny contains {"reason_code": "protected_path"} if {
	some path in input.action.facts.paths
	some segment in path.segments
	is_unreadable(fold(segment))
}

# By way of upper case, since file systems that fold case also fold the long s to s.
fold(segment) := lower(upper(segment))

is_unreadable(name) if name == ".git"

is_unreadable(name) if startswith(name, ".env")

is_unwritable(name) if name in {"tests", "policy"}

is_unwritable(name) if endswith(name, ".rego")
