package checkrein.rules.untrusted_test

import data.checkrein.rules.untrusted

of(effect, egress, tainted, private) := {
	"action": {"side_effect_class": effect, "egress": egress},
	"provenance": {"lowest_trust": "external", "untrusted": tainted, "private": private},
}

denied := {{"reason_code": "private_egress_after_untrusted"}}

egress := {"reason_code": "egress_after_untrusted"}

write := {"reason_code": "write_after_untrusted"}

test_private_data_do_not_leave if {
	every effect in ["READ", "REVERSIBLE", "IRREVERSIBLE"] {
		untrusted.deny == denied with input as of(effect, true, true, true)
	}
}

test_one_of_the_three_is_missing_and_nothing_is_denied if {
	untrusted.deny == set() with input as of("IRREVERSIBLE", false, true, true)
	untrusted.deny == set() with input as of("IRREVERSIBLE", true, false, true)
	untrusted.deny == set() with input as of("IRREVERSIBLE", true, true, false)
}

test_what_is_sent_out_is_asked if {
	untrusted.ask == {egress} with input as of("READ", true, true, false)
	untrusted.ask == {egress, write} with input as of("IRREVERSIBLE", true, true, false)
}

test_a_change_is_asked if {
	every effect in ["REVERSIBLE", "IRREVERSIBLE"] {
		untrusted.ask == {write} with input as of(effect, false, true, false)
	}
}

test_reading_goes_on if {
	untrusted.ask == set() with input as of("READ", false, true, true)
	untrusted.deny == set() with input as of("READ", false, true, true)
}

test_without_untrusted_content_it_is_left_alone if {
	untrusted.ask == set() with input as of("IRREVERSIBLE", true, false, true)
	untrusted.deny == set() with input as of("IRREVERSIBLE", true, false, true)
}

test_what_is_not_known_counts_as_so if {
	every odd in [null, "false", 0] {
		untrusted.deny == denied with input as of("READ", odd, odd, odd)
	}
	untrusted.deny == denied with input as {}
	untrusted.ask == {egress, write} with input as {}
}
