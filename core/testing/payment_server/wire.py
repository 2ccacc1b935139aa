"""HTTP/1.1 on a socket: strict sizes and times on what comes in, faults on what goes out."""

import asyncio
import socket
import struct
from dataclasses import dataclass

import h11

from checkrein.testing.payment_server.faults import DRIP_S, Delivery, Reply

MAX_HEADERS = 16 * 1024
"""Most bytes of a request's line and headers."""

MAX_BODY = 64 * 1024
"""Most bytes of a request's body."""

READ_S = 10.0
"""Longest that a client may take to send one request, in seconds."""

_CHUNK = 16 * 1024


@dataclass(frozen=True)
class Received:
    """One whole request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class BadRequestError(Exception):
    """What came in is no acceptable request; the connection ends after the answer."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Wire:
    """One connection of one client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADERS)

    async def request(self) -> Received | None:
        """The next request; None where the client has gone.

        Raises:
            BadRequestError: malformed, too large or too slow.
        """
        try:
            async with asyncio.timeout(READ_S):
                return await self._request()
        except TimeoutError as error:
            raise BadRequestError(408, "too_slow") from error
        except h11.RemoteProtocolError as error:
            raise BadRequestError(error.error_status_hint, "malformed") from error

    async def _request(self) -> Received | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_BODY:
                    raise BadRequestError(413, "too_large")
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                headers = {name.decode("ascii"): v.decode("latin-1") for name, v in head.headers}
                method = head.method.decode("ascii")
                return Received(method, head.target.decode("ascii"), headers, bytes(body))
            else:
                return None

    async def answer(self, reply: Reply) -> bool:
        """Deliver an answer; returns whether the connection can serve another request."""
        await asyncio.sleep(reply.wait_s)
        if reply.delivery is Delivery.DROPPED:
            self._reset()
            return False
        data = self._encoded(reply)
        if reply.delivery is Delivery.DRIPPED:
            await self._drip(data)
            return False
        self._writer.write(data * 2 if reply.delivery is Delivery.TWICE else data)
        await self._writer.drain()
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def _encoded(self, reply: Reply) -> bytes:
        headers = [
            ("Content-Type", reply.content_type),
            ("Content-Length", str(len(reply.body))),
            *reply.headers,
        ]
        if self._http.our_state is h11.ERROR or self._http.their_state is h11.ERROR:
            headers.append(("Connection", "close"))
        events: list[h11.Event] = [
            h11.Response(status_code=reply.status, headers=headers),
            h11.Data(data=reply.body),
            h11.EndOfMessage(),
        ]
        return b"".join(self._http.send(event) or b"" for event in events)

    async def _drip(self, data: bytes) -> None:
        for at in range(len(data)):
            self._writer.write(data[at : at + 1])
            await self._writer.drain()
            await asyncio.sleep(DRIP_S)

    def _reset(self) -> None:
        """Close so that the client sees a reset, as when a machine or a network breaks."""
        connection: socket.socket | None = self._writer.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
