# METADATA
# title: Untrusted content
# description: |
#   Text from outside may say anything, and a model may follow it. So what happens after it was in
#   the model's context is not the model's own word any more: `provenance` says so, and no text can
#   change that.
package checkrein.rules.untrusted

import future.keywords.not

# METADATA
# title: Private data out, after untrusted content
# description: |
#   Private data were read, text from outside was there, and now something is sent out: whatever
#   the text asked for, nobody can approve it.
# custom:
#   reason_code: private_egress_after_untrusted
deny contains {"reason_code": "private_egress_after_untrusted"} if {
	not input.action.egress == false
	not input.provenance.untrusted == false
	not input.provenance.private == false
}

# METADATA
# title: Something sent out, after untrusted content
# description: A person looks at what is sent out, to where.
# custom:
#   reason_code: egress_after_untrusted
ask contains {"reason_code": "egress_after_untrusted"} if {
	not input.action.egress == false
	not input.provenance.untrusted == false
}

# METADATA
# title: Change, after untrusted content
# description: A person looks at every change.
# custom:
#   reason_code: write_after_untrusted
ask contains {"reason_code": "write_after_untrusted"} if {
	not input.action.side_effect_class == "READ"
	not input.provenance.untrusted == false
}
