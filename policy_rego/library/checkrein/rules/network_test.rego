package checkrein.rules.network_test

import data.checkrein.rules.network

lists := {
	"capabilities": ["web.fetch"],
	"hosts": ["api.good.example", "10.0.0.1"],
	"ports": [443],
	"limited": ["web.fetch"],
}

good := {
	"scheme": "https",
	"host": "api.good.example",
	"port": 443,
	"has_userinfo": false,
	"address": "name",
}

of(capability, effect, urls, egress) := {"action": {
	"capability": capability,
	"side_effect_class": effect,
	"egress": egress,
	"facts": {"urls": urls},
}}

fetch(urls) := of("web.fetch", "READ", urls, true)

but(changes) := object.union(good, changes)

denied(code) := {{"reason_code": code}}

test_a_read_from_a_listed_host_is_allowed_and_limited if {
	network.allow == {{"reason_code": "network_read"}} with input as fetch([good]) with data.checkrein.network as lists
	found := network.limit with input as fetch([good]) with data.checkrein.network as lists
	found == {{"hosts": ["api.good.example", "10.0.0.1"]}}
	network.deny == set() with input as fetch([good]) with data.checkrein.network as lists
}

test_a_write_is_neither_allowed_nor_denied if {
	write := of("web.fetch", "IRREVERSIBLE", [good], true)
	network.allow == set() with input as write with data.checkrein.network as lists
	network.deny == set() with input as write with data.checkrein.network as lists
}

test_another_capability_is_not_allowed_and_judged_all_the_same if {
	other := of("other.send", "READ", [but({"host": "evil.example"})], false)
	network.allow == set() with input as other with data.checkrein.network as lists
	network.limit == set() with input as other with data.checkrein.network as lists
	network.deny == denied("host_not_listed") with input as other with data.checkrein.network as lists
}

test_each_wrong_part_is_denied if {
	every wrong in [
		["host_not_listed", {"host": "evil.example"}],
		["host_not_listed", {"host": "sub.api.good.example"}],
		["host_not_listed", {"host": null}],
		["port_not_listed", {"port": 8443}],
		["port_not_listed", {"port": "443"}],
		["address_not_https", {"scheme": "http"}],
		["address_not_https", {"scheme": "HTTPS"}],
		["address_has_userinfo", {"has_userinfo": true}],
		["address_has_userinfo", {"has_userinfo": null}],
		["address_not_public", {"address": "private"}],
		["address_not_public", {"address": "loopback"}],
		["address_not_public", {"address": "link_local"}],
		["address_not_public", {"address": "reserved"}],
		["address_not_public", {"host": "10.0.0.1", "address": "private"}],
	] {
		network.deny == denied(wrong[0]) with input as fetch([but(wrong[1])])
			with data.checkrein.network as lists
	}
}

test_one_wrong_address_among_others_is_denied if {
	network.deny == denied("host_not_listed") with input as fetch([good, but({"host": "evil.example"})])
		with data.checkrein.network as lists
}

test_an_empty_address_fails_every_check if {
	count(network.deny) == 5 with input as fetch([{}]) with data.checkrein.network as lists
}

test_an_unknown_address_is_denied if {
	every urls in [[], null, "https://api.good.example", 1] {
		{"reason_code": "address_unknown"} in network.deny with input as fetch(urls)
			with data.checkrein.network as lists
	}
	network.deny == denied("address_unknown") with input as of("mail.send", "IRREVERSIBLE", [], true)
		with data.checkrein.network as lists
	network.deny == denied("address_unknown") with input as {"action": {"facts": {}}}
		with data.checkrein.network as lists
}

test_what_stays_inside_is_left_alone if {
	every name in ["allow", "deny", "limit"] {
		network[name] == set() with input as of("workspace.read", "READ", [], false)
			with data.checkrein.network as lists
	}
}

test_without_lists_no_host_is_good if {
	codes := {"host_not_listed", "port_not_listed"}
	found := network.deny with input as fetch([good]) with data.checkrein.network as {}
	{member.reason_code | some member in found} == codes
}
