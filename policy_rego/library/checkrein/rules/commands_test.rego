package checkrein.rules.commands_test

import data.checkrein.rules.commands

lists := {
	"capabilities": ["build.run"],
	"exact": [["git", "status"], ["make", "test"]],
	"prefixes": [["pytest"], ["git", "log"], []],
}

of(capability, argv) := {"action": {"capability": capability, "facts": {"argv": argv}}}

run(argv) := of("build.run", argv)

test_listed_words_are_allowed if {
	every argv in lists.exact {
		commands.allow == {{"reason_code": "command_listed"}} with input as run(argv)
			with data.checkrein.commands as lists
		commands.ask == set() with input as run(argv) with data.checkrein.commands as lists
		commands.deny == set() with input as run(argv) with data.checkrein.commands as lists
	}
}

test_listed_first_words_are_asked if {
	every argv in [["pytest"], ["pytest", "-x"], ["git", "log", "--all"]] {
		commands.ask == {{"reason_code": "command_needs_approval"}} with input as run(argv)
			with data.checkrein.commands as lists
		commands.allow == set() with input as run(argv) with data.checkrein.commands as lists
		commands.deny == set() with input as run(argv) with data.checkrein.commands as lists
	}
}

test_other_words_are_denied if {
	every argv in [["git"], ["git", "status", "-s"], ["git", "push"], ["make", "TEST"], ["rm"]] {
		commands.deny == {{"reason_code": "command_not_listed"}} with input as run(argv)
			with data.checkrein.commands as lists
		commands.allow == set() with input as run(argv) with data.checkrein.commands as lists
		commands.ask == set() with input as run(argv) with data.checkrein.commands as lists
	}
}

test_a_shell_is_denied_wherever_it_stands if {
	shell := {"reason_code": "command_is_shell"}
	every argv in [
		["sh", "-c", "x"],
		["pytest", "/bin/BASH"],
		["pytest", "C:\\Windows\\cmd.exe"],
		["pytest", "env", "zsh"],
	] {
		shell in commands.deny with input as run(argv) with data.checkrein.commands as lists
	}
}

test_a_shell_on_the_list_is_denied_all_the_same if {
	listed := {"capabilities": ["build.run"], "exact": [["bash"]], "prefixes": []}
	commands.deny == {{"reason_code": "command_is_shell"}} with input as run(["bash"])
		with data.checkrein.commands as listed
}

test_a_command_of_another_capability_is_denied if {
	commands.deny == {{"reason_code": "command_not_listed"}} with input as of("other.run", ["git", "status"])
		with data.checkrein.commands as lists
	commands.allow == set() with input as of("other.run", ["git", "status"])
		with data.checkrein.commands as lists
}

test_words_that_cannot_be_told_are_denied if {
	unknown := {"reason_code": "command_unknown"}
	every argv in [[], [""], ["git", 1], "git status", null, 1, {"git": "status"}] {
		unknown in commands.deny with input as run(argv) with data.checkrein.commands as lists
		commands.allow == set() with input as run(argv) with data.checkrein.commands as lists
		commands.ask == set() with input as run(argv) with data.checkrein.commands as lists
	}
	unknown in commands.deny with input as {"action": {"capability": "build.run", "facts": {}}}
		with data.checkrein.commands as lists
}

test_what_runs_no_command_is_left_alone if {
	every name in ["allow", "ask", "deny"] {
		commands[name] == set() with input as of("workspace.read", []) with data.checkrein.commands as lists
	}
}

test_without_lists_every_command_is_denied if {
	commands.deny == {{"reason_code": "command_not_listed"}} with input as run(["git", "status"])
		with data.checkrein.commands as {}
}
