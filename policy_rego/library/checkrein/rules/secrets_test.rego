package checkrein.rules.secrets_test

import data.checkrein.rules.secrets

of(egress, hits) := {"action": {"egress": egress, "facts": {"secret_hits": hits}}}

denied := {{"reason_code": "secret_leaves"}}

test_a_secret_does_not_leave if {
	every hits in [1, 100] {
		secrets.deny == denied with input as of(true, hits)
	}
}

test_without_a_secret_it_is_left_alone if {
	secrets.deny == set() with input as of(true, 0)
}

test_a_secret_that_stays_is_left_alone if {
	secrets.deny == set() with input as of(false, 1)
}

test_what_is_not_known_is_denied if {
	every hits in [null, "0", false, -1] {
		secrets.deny == denied with input as of(true, hits)
	}
	every egress in [null, "false", 0] {
		secrets.deny == denied with input as of(egress, 1)
	}
	secrets.deny == denied with input as {}
}
