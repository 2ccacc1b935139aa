package checkrein.rules.sql_test

import data.checkrein.rules.sql

lists := {
	"capabilities": ["orders.read", "orders.update"],
	"read_tables": ["shop.orders", "shop.items"],
	"write_tables": ["shop.orders"],
	"max_rows": 10,
	"limited": ["orders.update"],
}

of(capability, effect, facts) := {"action": {
	"capability": capability,
	"side_effect_class": effect,
	"facts": facts,
}}

read(tables, rows) := of("orders.read", "READ", {"tables": tables, "rows": rows})

write(tables, rows) := of("orders.update", "REVERSIBLE", {"tables": tables, "rows": rows})

denied(code) := {{"reason_code": code}}

test_a_read_of_listed_tables_is_allowed if {
	every rows in [null, 10] {
		asked := read(["shop.orders", "shop.items"], rows)
		sql.allow == {{"reason_code": "sql_read"}} with input as asked with data.checkrein.sql as lists
		sql.ask == set() with input as asked with data.checkrein.sql as lists
		sql.deny == set() with input as asked with data.checkrein.sql as lists
		sql.limit == set() with input as asked with data.checkrein.sql as lists
	}
}

test_a_change_of_listed_tables_is_asked_and_limited if {
	asked := write(["shop.orders"], 1)
	sql.ask == {{"reason_code": "sql_write"}} with input as asked with data.checkrein.sql as lists
	sql.limit == {{"max_rows": 10}} with input as asked with data.checkrein.sql as lists
	sql.allow == set() with input as asked with data.checkrein.sql as lists
	sql.deny == set() with input as asked with data.checkrein.sql as lists
}

test_another_table_is_denied if {
	every asked in [
		read(["shop.orders", "shop.people"], null),
		read(["SHOP.ORDERS"], null),
		read([1], null),
		write(["shop.items"], 1),
		of("orders.read", "OTHER", {"tables": ["shop.items"], "rows": 1}),
	] {
		sql.deny == denied("sql_table_not_listed") with input as asked with data.checkrein.sql as lists
	}
}

test_unknown_tables_are_denied if {
	every tables in [[], null, "shop.orders", 1] {
		{"reason_code": "sql_tables_unknown"} in sql.deny with input as read(tables, null)
			with data.checkrein.sql as lists
	}
	sql.deny == denied("sql_tables_unknown") with input as of("orders.read", "READ", {})
		with data.checkrein.sql as lists
}

test_too_many_rows_are_denied if {
	every asked in [read(["shop.orders"], 11), write(["shop.orders"], 11)] {
		sql.deny == denied("sql_too_many_rows") with input as asked with data.checkrein.sql as lists
	}
}

test_a_change_of_unknown_rows_is_denied if {
	every rows in [null, "1", [1]] {
		sql.deny == denied("sql_rows_unknown") with input as write(["shop.orders"], rows)
			with data.checkrein.sql as lists
	}
	asked := of("orders.update", "REVERSIBLE", {"tables": ["shop.orders"]})
	sql.deny == denied("sql_rows_unknown") with input as asked with data.checkrein.sql as lists
}

test_another_capability_is_denied if {
	every facts in [{"tables": ["shop.orders"], "rows": 1}, {"tables": ["shop.orders"]}] {
		sql.deny == denied("sql_capability_not_listed") with input as of("other.read", "READ", facts)
			with data.checkrein.sql as lists
	}
	{"reason_code": "sql_capability_not_listed"} in sql.deny with input as of("other.read", "READ", {"rows": 1})
		with data.checkrein.sql as lists
}

test_what_touches_no_table_is_left_alone if {
	every name in ["allow", "ask", "deny", "limit"] {
		sql[name] == set() with input as of("workspace.write_file", "REVERSIBLE", {"tables": [], "rows": null})
			with data.checkrein.sql as lists
	}
}

test_without_lists_everything_is_denied if {
	codes := {"sql_capability_not_listed", "sql_table_not_listed", "sql_too_many_rows"}
	found := sql.deny with input as write(["shop.orders"], 1) with data.checkrein.sql as {}
	{member.reason_code | some member in found} == codes
}
