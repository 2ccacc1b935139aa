# METADATA
# title: Allow all
# description: Allows every action whatever; for tests of what protects where no policy does.
package checkrein.rules.allow_all

# METADATA
# title: Everything is allowed
# custom:
#   reason_code: everything_allowed
allow contains {"reason_code": "everything_allowed"} if true
