package checkrein.rules.mine

default most := 10

most := data.checkrein.mine.most

deny contains {"reason_code": "too_much"} if input.action.facts.bytes > most
