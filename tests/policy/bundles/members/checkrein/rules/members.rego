# METADATA
# title: Members as the test gives them
# description: Adds whatever the arguments say, well formed or not.
package checkrein.rules.members

allow contains member if some member in input.action.args.allow

ask contains member if some member in input.action.args.ask

deny contains member if some member in input.action.args.deny

limit contains member if some member in input.action.args.limit
