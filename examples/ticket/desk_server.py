"""A small ticket desk over HTTP: a real service on loopback, which keeps its tickets in one file.

    python desk_server.py FILE [--port 8431]

GET /tickets/ID tells a ticket. POST /replies answers one, once for each Idempotency-Key; the same
key with another operation is refused. GET /replies?key=KEY finds what happened under a key.
"""

import argparse
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

FIRST = {
    "tickets": {
        "T-17": {
            "id": "T-17",
            "state": "open",
            "customer": "Ada Brandt",
            "text": "My order 4711 came without the charger. Please send one.",
            "reply": None,
        }
    },
    "replies": {},
}


class Desk:
    """The tickets, in memory and in a file that is replaced as a whole."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._data: dict[str, Any] = json.loads(file.read_text()) if file.exists() else FIRST

    def ticket(self, name: str) -> tuple[int, dict[str, Any]]:
        with self._lock:
            found = self._data["tickets"].get(name)
        return (200, found) if found else (404, {"error": "no such ticket"})

    def reply_of(self, key: str) -> tuple[int, dict[str, Any]]:
        with self._lock:
            found = self._data["replies"].get(key)
        return (200, {"reply": found}) if found else (404, {"error": "no such key"})

    def reply(self, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer a ticket once; a repeat gets the record of the first time."""
        with self._lock:
            known = self._data["replies"].get(key)
            if known is not None:
                same = known["operation_hash"] == body["operation_hash"]
                return (200, {"reply": known}) if same else (409, {"error": "key is taken"})
            ticket = self._data["tickets"].get(body["ticket"])
            if ticket is None or ticket["state"] != "open":
                return 422, {"error": "there is no such open ticket"}
            ticket |= {"state": body["state"], "reply": body["text"]}
            record = {
                "id": f"R-{len(self._data['replies']) + 1}",
                "status": "committed",
                "operation_hash": body["operation_hash"],
                "ticket": body["ticket"],
                "state": body["state"],
            }
            self._data["replies"][key] = record
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(self._data))
            os.replace(fresh, self._file)
            return 200, {"reply": record}


def handler(desk: Desk) -> type[BaseHTTPRequestHandler]:
    """The requests that the desk answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path.startswith("/tickets/"):
                self._send(*desk.ticket(url.path.removeprefix("/tickets/")))
            elif url.path == "/replies":
                self._send(*desk.reply_of(parse_qs(url.query).get("key", [""])[0]))
            else:
                self._send(404, {"error": "no such place"})

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            key = self.headers.get("Idempotency-Key")
            if self.path != "/replies" or not key or not 0 < size <= 100_000:
                self._send(400, {"error": "post a reply with its Idempotency-Key"})
                return
            try:
                body = json.loads(self.rfile.read(size))
                answer = desk.reply(key, body)
            except (ValueError, KeyError, TypeError):
                answer = 400, {"error": "a reply has ticket, text, state and operation_hash"}
            self._send(*answer)

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: what happens stands in the trace."""

    return Handler


def main() -> None:
    """Listen on loopback until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--port", type=int, default=8431)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler(Desk(given.file)))
    print(f"export TICKET_DESK=http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
