"""The process that holds the Rego engine: frames of JSON on stdin, frames of JSON on stdout.

It is started by its path, isolated (`python -I`), and imports nothing of Checkrein, so that it
starts fast and a fault of the native engine can take nothing else with it. A frame is its length
in four bytes, big-endian, and that many bytes of JSON. Every request names itself (`id`), what to
do (`do`) and the most seconds that it may take (`limit_s`).

    parse  {path, text}                     -> {ast}        one module's syntax tree
    load   {modules: [[path, text]], data, coverage} -> {}  a new engine, replacing the old one
    eval   {query, input}                   -> {result}     both as JSON text
    coverage {}                             -> {report}     lines covered since load, JSON text

A failed request answers {fault, message}: `load`, `input`, `eval`, or `panic`, after which the
process ends, since the engine's state is unknown. It ends as well when stdin closes.
"""

import importlib
import json
import os
import signal
import struct
import sys
from typing import Any, BinaryIO

MAX_FRAME_BYTES = 64 * 1024 * 1024
MAX_MESSAGE = 2_000


class EngineError(Exception):
    """A request that the engine refused: the kind of fault and the engine's words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Worker:
    """One engine at most, and the requests that it answers."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._engine: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what one request asks.

        Raises:
            EngineError: the engine refused it.
        """
        match request["do"]:
            case "parse":
                return self._parse(request)
            case "load":
                return self._load(request)
            case "eval":
                return self._eval(request)
            case "coverage":
                return {"report": self._engine.get_coverage_report_as_json()}
            case other:
                raise EngineError("request", f"unknown request {other!r}")

    def _parse(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            engine = self._native.Engine()
            engine.add_policy(request["path"], request["text"])
            # Compact: the engine's own text is indented, ten times the size of what it says.
            return {"ast": json.loads(engine.get_ast_as_json())[0]["ast"]}
        except Exception as error:
            raise EngineError("load", str(error)) from error

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        # The engine cannot drop a module, so that a new bundle is always a new engine.
        self._engine = None
        try:
            engine = self._native.Engine()
            for path, text in request["modules"]:
                engine.add_policy(path, text)
            engine.add_data_json(request["data"])
            engine.set_enable_coverage(request["coverage"])
            # What a policy prints is gathered and dropped: it may hold arguments.
            engine.set_gather_prints(True)
        except Exception as error:
            raise EngineError("load", str(error)) from error
        self._engine = engine
        return {}

    def _eval(self, request: dict[str, Any]) -> dict[str, Any]:
        # A refused input leaves the previous one in place, so nothing is evaluated after it.
        try:
            self._engine.set_input_json(request["input"])
        except Exception as error:
            raise EngineError("input", str(error)) from error
        try:
            return {"result": self._engine.eval_query_as_json(request["query"])}
        except Exception as error:
            raise EngineError("eval", str(error)) from error
        finally:
            self._engine.take_prints()


def read_frame(source: BinaryIO) -> bytes | None:
    """One frame, or None where the parent has closed its end."""
    head = source.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack(">I", head)
    if size > MAX_FRAME_BYTES:
        return None
    body = source.read(size)
    return body if len(body) == size else None


def write_frame(sink: BinaryIO, value: dict[str, Any]) -> None:
    """Write one frame."""
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    sink.write(struct.pack(">I", len(body)) + body)
    sink.flush()


def set_alarm(seconds: float) -> None:
    """Let the kernel end this process in so many seconds; 0 calls it off.

    The engine holds the interpreter while it evaluates, so that nothing in here could end it once
    the parent is gone. The parent's own deadline always comes first.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def answered(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, faults of every kind included."""
    try:
        return worker.answer(request)
    except EngineError as fault:
        # Behind the engine's message comes a stack of its own, of no use to anybody here.
        text = str(fault).partition("\n\nStack backtrace")[0].strip()
        return {"fault": fault.kind, "message": text[:MAX_MESSAGE]}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        return {"fault": "panic", "message": f"{type(error).__name__}: {error}"[:MAX_MESSAGE]}


def serve(source: BinaryIO, sink: BinaryIO, native: Any) -> None:
    """Answer requests, one after the other, until stdin closes or the engine panics."""
    worker = Worker(native)
    while (frame := read_frame(source)) is not None:
        request = json.loads(frame)
        set_alarm(request["limit_s"])
        reply = answered(worker, request)
        set_alarm(0)
        write_frame(sink, {"id": request["id"], **reply})
        if reply.get("fault") == "panic":
            return


def main() -> int:
    """Serve on stdin and stdout; whatever else writes to stdout goes to stderr."""
    try:
        regorus = importlib.import_module("regorus")  # it ships no types
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return 69
    with os.fdopen(os.dup(0), "rb") as source, os.fdopen(os.dup(1), "wb") as sink:
        os.dup2(2, 1)
        serve(source, sink, regorus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
