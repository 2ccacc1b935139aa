# METADATA
# title: Databases
# description: |
#   Which tables may be read, which may be changed, and how many rows at once. Holds for every
#   action with tables or a number of rows. Data in checkrein/sql/data.json: `capabilities` that may
#   touch a database, `read_tables`, `write_tables`, `max_rows`; `limited`, those capabilities whose
#   executor enforces the limit `max_rows` too.
package checkrein.rules.sql

import future.keywords.not

# METADATA
# title: Read from listed tables
# description: A listed capability reads; the denials below judge which tables and how many rows.
# custom:
#   reason_code: sql_read
allow contains {"reason_code": "sql_read"} if {
	input.action.capability in data.checkrein.sql.capabilities
	input.action.side_effect_class == "READ"
}

# METADATA
# title: Change of rows
# description: A change of a database needs an approval.
# custom:
#   reason_code: sql_write
ask contains {"reason_code": "sql_write"} if {
	uses_database
	not input.action.side_effect_class == "READ"
}

# METADATA
# title: Rows, held at the executor
# description: The same number goes along to the executor.
limit contains {"max_rows": data.checkrein.sql.max_rows} if {
	input.action.capability in data.checkrein.sql.limited
}

# METADATA
# title: Database by another capability
# description: Something touches tables and is not among `capabilities`.
# custom:
#   reason_code: sql_capability_not_listed
deny contains {"reason_code": "sql_capability_not_listed"} if {
	uses_database
	not input.action.capability in data.checkrein.sql.capabilities
}

# METADATA
# title: Tables unknown
# description: The harness could not tell which tables are touched.
# custom:
#   reason_code: sql_tables_unknown
deny contains {"reason_code": "sql_tables_unknown"} if {
	uses_database
	count(tables) == 0
}

# METADATA
# title: Table not on the list
# description: |
#   One of the tables is neither among `read_tables` nor, for a change, among `write_tables`. Names
#   are compared as they are, with their case and their schema.
# custom:
#   reason_code: sql_table_not_listed
deny contains {"reason_code": "sql_table_not_listed"} if {
	some table in tables
	not may_use(table)
}

# METADATA
# title: Number of rows unknown
# description: A change whose number of rows the harness could not tell.
# custom:
#   reason_code: sql_rows_unknown
deny contains {"reason_code": "sql_rows_unknown"} if {
	uses_database
	not input.action.side_effect_class == "READ"
	not is_number(input.action.facts.rows)
}

# METADATA
# title: Too many rows
# description: More rows than `max_rows`, or no such number in the data.
# custom:
#   reason_code: sql_too_many_rows
deny contains {"reason_code": "sql_too_many_rows"} if {
	is_number(input.action.facts.rows)
	not few_enough(input.action.facts.rows)
}

uses_database if input.action.capability in data.checkrein.sql.capabilities

uses_database if input.action.facts.tables != []

uses_database if is_number(input.action.facts.rows)

tables contains table if {
	is_array(input.action.facts.tables)
	some table in input.action.facts.tables
}

may_use(table) if {
	input.action.side_effect_class == "READ"
	table in data.checkrein.sql.read_tables
}

may_use(table) if {
	input.action.side_effect_class in {"REVERSIBLE", "IRREVERSIBLE"}
	table in data.checkrein.sql.write_tables
}

few_enough(rows) if {
	is_number(data.checkrein.sql.max_rows)
	rows <= data.checkrein.sql.max_rows
}
