"""Messages as frames: the number of bytes in ASCII digits, a colon, and the text in UTF-8."""

from collections.abc import Iterator

LONGEST = 1_000_000


class FrameError(ValueError):
    """The bytes are no frames of ours."""


def frame(text: str) -> bytes:
    """One message as bytes."""
    return f"{len(text)}:{text}".encode()


def unframed(data: bytes) -> Iterator[str]:
    """Every message of some bytes.

    Raises:
        FrameError: a frame is cut off, or its length is none.
    """
    while data:
        head, colon, rest = data.partition(b":")
        if not colon or not head.isdigit() or int(head) > LONGEST:
            raise FrameError(f"{head[:20]!r} is no length")
        size = int(head)
        if len(rest) < size:
            raise FrameError(f"{size} bytes were promised, and {len(rest)} came")
        yield rest[:size].decode()
        data = rest[size:]
