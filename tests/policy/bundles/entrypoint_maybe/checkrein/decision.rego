# METADATA
# title: An entrypoint of one's own
# description: Refused when it is loaded; what it answers must not be believed either.
package checkrein

decision := {
	"decision": "maybe",
	"reason_code": "who_knows",
	"reasons": ["who_knows"],
	"constraints": {},
	"approval": null,
	"obligations": [],
}
