"""What a file is by its content, where that can be told; every look takes linear time."""

import csv
import io
import re
import struct
import zlib
from collections.abc import Callable, Mapping

_PNG = b"\x89PNG\r\n\x1a\n"
_HTML = re.compile(r"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html)[\s>]", re.IGNORECASE | re.DOTALL)
_MAX_FIELD = 1024 * 1024


def fault_of(media_type: str, data: bytes) -> str | None:
    """What shows that the bytes are not of this type; None where nothing does."""
    look = _LOOKS.get(media_type)
    if look is None and media_type.startswith("text/"):
        look = _text
    return None if look is None else look(data)


def can_tell(media_type: str) -> bool:
    """Whether content shows anything about files of this type."""
    told = media_type in _LOOKS or is_json(media_type) or is_xml(media_type)
    return told or media_type.startswith("text/")


def is_json(media_type: str) -> bool:
    """Whether it is JSON by its name."""
    return media_type == "application/json" or media_type.endswith("+json")


def is_xml(media_type: str) -> bool:
    """Whether it is XML by its name; HTML is not."""
    return media_type in {"application/xml", "text/xml"} or media_type.endswith("+xml")


def _text(data: bytes) -> str | None:
    try:
        words = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start} is no UTF-8"
    return "it holds a NUL, which no text does" if "\0" in words else None


def _html(data: bytes) -> str | None:
    wrong = _text(data)
    if wrong is not None:
        return wrong
    start = data[:4096].decode("utf-8", "replace").lstrip("\ufeff")
    return None if _HTML.match(start) else "it does not begin as HTML: <!doctype html> or <html>"


def _csv(data: bytes) -> str | None:
    wrong = _text(data)
    if wrong is not None:
        return wrong
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    columns = 0
    try:
        for row in reader:
            columns = columns or len(row)
            if row and len(row) != columns:
                return f"line {reader.line_num} has {len(row)} fields and the first has {columns}"
    except csv.Error as error:
        return f"line {reader.line_num}: {error}"
    return None if columns else "it has no line"


def _png(data: bytes) -> str | None:
    """Every chunk must be whole, under its checksum, from IHDR to IEND."""
    if not data.startswith(_PNG):
        return "it does not begin as a PNG"
    place, names = len(_PNG), list[bytes]()
    while place + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, place)
        end = place + 12 + length
        if end > len(data):
            break
        body = data[place + 4 : end - 4]
        if zlib.crc32(body) != struct.unpack_from(">I", data, end - 4)[0]:
            return f"the chunk at byte {place} does not match its checksum"
        names.append(body[:4])
        place = end
        if body[:4] == b"IEND":
            break
    if not names or names[0] != b"IHDR" or names[-1] != b"IEND":
        return "it is cut off, or its chunks are not those of a PNG"
    return None if b"IDAT" in names else "it holds no picture"


def _pdf(data: bytes) -> str | None:
    if not re.match(rb"%PDF-\d\.\d", data):
        return "it does not begin as a PDF"
    tail = data[-2048:]
    whole = b"startxref" in tail and b"%%EOF" in tail
    return None if whole else "it has no end: startxref and %%EOF are missing"


def _jpeg(data: bytes) -> str | None:
    whole = data.startswith(b"\xff\xd8\xff") and data.rstrip(b"\0\r\n").endswith(b"\xff\xd9")
    return None if whole else "it does not begin and end as a JPEG"


def _gif(data: bytes) -> str | None:
    whole = data[:6] in {b"GIF87a", b"GIF89a"} and data.endswith(b";")
    return None if whole else "it does not begin and end as a GIF"


_LOOKS: Mapping[str, Callable[[bytes], str | None]] = {
    "text/html": _html,
    "text/csv": _csv,
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "application/pdf": _pdf,
}
