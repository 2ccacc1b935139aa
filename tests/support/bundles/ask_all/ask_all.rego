# METADATA
# title: Ask for everything, reads too
# custom:
#   reason_code: all_asked
package checkrein.rules.ask_all

ask contains {"reason_code": "all_asked"}
