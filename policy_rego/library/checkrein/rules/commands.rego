# METADATA
# title: Commands
# description: |
#   Commands are matched by their words, never by a line of text. Data in
#   checkrein/commands/data.json: `capabilities` that may run commands, `exact` lists of words that
#   run without asking, `prefixes` after which a person decides. Everything else is denied, and so
#   is a command of a capability that is not listed.
package checkrein.rules.commands

import future.keywords.not

shells := {
	"ash",
	"bash",
	"busybox",
	"cmd",
	"csh",
	"dash",
	"fish",
	"ksh",
	"mksh",
	"powershell",
	"pwsh",
	"sh",
	"tcsh",
	"zsh",
}

# METADATA
# title: Command on the list
# description: The words are exactly those of an entry in `exact`.
# custom:
#   reason_code: command_listed
allow contains {"reason_code": "command_listed"} if is_listed

# METADATA
# title: Command that begins as on the list
# description: The first words are those of an entry in `prefixes`; what follows, a person judges.
# custom:
#   reason_code: command_needs_approval
ask contains {"reason_code": "command_needs_approval"} if {
	not is_listed
	begins_as_listed
}

# METADATA
# title: Command not on the list
# description: No entry in `exact` or `prefixes` fits, or the capability is not listed.
# custom:
#   reason_code: command_not_listed
deny contains {"reason_code": "command_not_listed"} if {
	runs_command
	not is_listed
	not begins_as_listed
}

# METADATA
# title: Shell
# description: |
#   A word of the command names a shell, whatever stands before it: env, sudo, timeout and the like
#   would run it. A file that is called like a shell is taken for one.
# custom:
#   reason_code: command_is_shell
deny contains {"reason_code": "command_is_shell"} if {
	some word in words
	parts := split(replace(word, "\\", "/"), "/")
	trim_suffix(lower(parts[count(parts) - 1]), ".exe") in shells
}

# METADATA
# title: Command without words
# description: The harness could not tell the words of the command, or one of them is empty.
# custom:
#   reason_code: command_unknown
deny contains {"reason_code": "command_unknown"} if {
	runs_command
	not words
}

runs_command if input.action.capability in data.checkrein.commands.capabilities

runs_command if input.action.facts.argv != []

words := input.action.facts.argv if {
	is_array(input.action.facts.argv)
	count(input.action.facts.argv) > 0
	every word in input.action.facts.argv {
		is_string(word)
		word != ""
	}
}

is_listed if {
	input.action.capability in data.checkrein.commands.capabilities
	words in data.checkrein.commands.exact
}

begins_as_listed if {
	input.action.capability in data.checkrein.commands.capabilities
	some prefix in data.checkrein.commands.prefixes
	count(prefix) > 0
	array.slice(words, 0, count(prefix)) == prefix
}
