package checkrein.rules.mine

deny contains {"reason_code": "not_today"} if {
	http.send({"method": "GET", "url": "https://example.com"}).body.open == false
}
