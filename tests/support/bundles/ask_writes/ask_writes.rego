# METADATA
# title: Ask for every write, wherever it goes
# custom:
#   reason_code: write_asked
package checkrein.rules.ask_writes

allow contains {"reason_code": "read_allowed"} if input.action.side_effect_class == "READ"

ask contains {"reason_code": "write_asked"} if input.action.side_effect_class != "READ"
