# METADATA
# title: Network
# description: |
#   Only hosts on a list, by https, and no address that lies inside. Holds for every action that
#   names an address or sends something out, whatever else allows it. Data in
#   checkrein/network/data.json: `hosts`, `ports`; `capabilities` that may read from these hosts
#   without asking; `limited`, those whose executor enforces the limit `hosts` too.
package checkrein.rules.network

import future.keywords.not

# METADATA
# title: Read from a listed host
# description: The capability is listed and only reads; where from, the denials below judge.
# custom:
#   reason_code: network_read
allow contains {"reason_code": "network_read"} if {
	input.action.capability in data.checkrein.network.capabilities
	input.action.side_effect_class == "READ"
}

# METADATA
# title: Hosts, held at the executor
# description: The same list goes along to the executor, which holds what it sends against it once more.
limit contains {"hosts": data.checkrein.network.hosts} if {
	input.action.capability in data.checkrein.network.limited
}

# METADATA
# title: Address unknown
# description: Something is sent out, and the harness could not tell where to.
# custom:
#   reason_code: address_unknown
deny contains {"reason_code": "address_unknown"} if {
	goes_out
	count(urls) == 0
}

# METADATA
# title: Host not on the list
# description: One address leads to a host that is not among `hosts`.
# custom:
#   reason_code: host_not_listed
deny contains {"reason_code": "host_not_listed"} if {
	some url in urls
	not url.host in data.checkrein.network.hosts
}

# METADATA
# title: Port not on the list
# description: One address names a port that is not among `ports`.
# custom:
#   reason_code: port_not_listed
deny contains {"reason_code": "port_not_listed"} if {
	some url in urls
	not url.port in data.checkrein.network.ports
}

# METADATA
# title: Not https
# description: What is sent in the clear can be read and changed on its way.
# custom:
#   reason_code: address_not_https
deny contains {"reason_code": "address_not_https"} if {
	some url in urls
	not url.scheme == "https"
}

# METADATA
# title: Address with user-info
# description: What stands before an @ looks like a host to people, or holds a password.
# custom:
#   reason_code: address_has_userinfo
deny contains {"reason_code": "address_has_userinfo"} if {
	some url in urls
	not url.has_userinfo == false
}

# METADATA
# title: Address that lies inside
# description: A private, loopback, link-local or reserved address, even one on the list.
# custom:
#   reason_code: address_not_public
deny contains {"reason_code": "address_not_public"} if {
	some url in urls
	not url.address in {"name", "public"}
}

goes_out if not input.action.egress == false

goes_out if input.action.capability in data.checkrein.network.capabilities

goes_out if input.action.facts.urls != []

urls contains url if {
	is_array(input.action.facts.urls)
	some url in input.action.facts.urls
}
