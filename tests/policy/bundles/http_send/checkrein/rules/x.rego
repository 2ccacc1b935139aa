package checkrein.rules.x

allow contains {"reason_code": "asked_elsewhere"} if {
	http.send({"method": "GET", "url": "http://127.0.0.1/"}).status_code == 200
}
