# METADATA
# title: The ticket desk
# description: Tickets and drafts may be read and written; what a customer gets, a person reads first.
package checkrein.rules.desk

# METADATA
# title: Read a ticket
# description: Reading tickets needs nobody's consent.
# custom:
#   reason_code: read_ticket
allow contains {"reason_code": "read_ticket"} if input.action.capability == "desk.read"

# METADATA
# title: Write the draft
# description: The draft is one file of the workspace, which nobody is sent.
# custom:
#   reason_code: write_draft
allow contains {"reason_code": "write_draft"} if {
	input.action.capability == "workspace.write_file"
	count(input.action.facts.paths) == 1
	every path in input.action.facts.paths {
		path.inside == true
		path.symlink == false
		path.segments == ["draft.txt"]
	}
}

# METADATA
# title: Answer a customer
# description: It cannot be unsent, so a person of support agrees to these very words.
# custom:
#   reason_code: answer_customer
ask contains {"reason_code": "answer_customer", "roles": ["support"]} if {
	input.action.capability == "desk.answer"
}
