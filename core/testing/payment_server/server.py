"""The payment service's process: listens on loopback, and ends when it is told to or left alone."""

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path

from checkrein.testing.payment_server.faults import json_reply
from checkrein.testing.payment_server.service import PaymentService
from checkrein.testing.payment_server.wire import BadRequestError, Wire

HOST = "127.0.0.1"


async def serve(folder: Path, port: int) -> None:
    """Print where it listens as one line of JSON, and serve until SIGTERM or the end of stdin."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    threading.Thread(target=_until_left, args=(loop, ended), daemon=True).start()
    service = PaymentService(folder)
    await service.open()
    open_wires: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_wires.add(task)
        try:
            await _served(service, reader, writer)
        except asyncio.CancelledError:
            # The server ends. asyncio.streams would report the cancelling as a fault.
            return
        finally:
            open_wires.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, HOST, port)
    async with server:
        bound = server.sockets[0].getsockname()[1]
        sys.stdout.write(json.dumps({"url": f"http://{HOST}:{bound}"}) + "\n")
        sys.stdout.flush()
        await ended.wait()
        server.close()
        for task in open_wires:
            task.cancel()
    await service.close()


async def _served(
    service: PaymentService, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    wire = Wire(reader, writer)
    try:
        while (request := await wire.request()) is not None:
            if not await wire.answer(await service.answer(request)):
                return
    except BadRequestError as error:
        await wire.answer(json_reply(error.status, {"error": error.code}))
    except ConnectionError:
        return  # the client has gone; what it asked for is done or not, as it happened


def _until_left(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Wait for the end of standard input, which a parent's death brings too."""
    while os.read(0, 1024):
        continue
    try:
        loop.call_soon_threadsafe(ended.set)
    except RuntimeError:
        return  # the loop has ended by itself
