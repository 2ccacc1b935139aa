"""What a failed model call means: may it pass, and what may be said about it.

Decided by class names, status codes and error codes, never by wording. The exception's text may
hold a key or a prompt, so that it never reaches a message; a masked first line of it stands in the
error's context.
"""

import re
from collections.abc import Iterator

from checkrein.errors import ModelError

_PASSING_STATUS = frozenset({408, 409, 425, 429})
_PASSING_NAMES = frozenset(
    {
        # Python, httpx, aiohttp, gRPC, and the names that providers' clients share.
        "ConnectionError",
        "TimeoutError",
        "TransportError",
        "ClientConnectionError",
        "ServerDisconnectedError",
        "APIConnectionError",
        "APITimeoutError",
        "RateLimitError",
        "InternalServerError",
        "ServiceUnavailableError",
        "OverloadedError",
        "ServerError",
        "DeadlineExceeded",
        "ResourceExhausted",
        "ServiceUnavailable",
        "TooManyRequests",
        "ThrottlingException",
    }
)
_LASTING_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_NEXT = {
    401: "Check the API key.",
    403: "Check what the API key may use.",
    404: "Check the model's name.",
    413: "The context is too large for this model.",
}
_MAX_CAUSES = 5
_MAX_DETAIL = 200
_SECRET = re.compile(
    r"(?i)((?:api[-_ ]?key|key|token|secret|password|authorization)\W{1,4})(?:\w+ )?\S+"
    r"|((?:bearer|basic)\s+)\S+"
    r"|\b(?:sk|pk|rk|gsk|xai|AIza|ghp|AKIA)[-_A-Za-z0-9]{6,}"
    r"|[A-Za-z0-9+/_\-.]{24,}"
)


def model_error(error: Exception, name: str) -> ModelError:
    """Return the ModelError that stands for a client's exception.

    Args:
        name: how people name the model.
    """
    status = _status(error)
    passing = _passes(error, status)
    kind = type(error).__name__
    said = f"{kind}, status {status}" if status else kind
    next_step = "The fault may pass; try again." if passing else _NEXT.get(status or 0, "")
    return ModelError(
        f"The model {name} failed: {said}. {next_step}".rstrip(),
        op="model.respond",
        code="model_unavailable" if passing else "model_failed",
        retryable=passing,
        context={"model": name, "error_type": kind, "status": status, "detail": _detail(error)},
    )


def _passes(error: Exception, status: int | None) -> bool:
    chain = list(_causes(error))
    if any(getattr(one, "code", None) in _LASTING_CODES for one in chain):
        return False
    if status is not None:
        return status in _PASSING_STATUS or status >= 500
    names = {cls.__name__ for one in chain for cls in type(one).__mro__}
    return not names.isdisjoint(_PASSING_NAMES)


def _status(error: Exception) -> int | None:
    """The HTTP status, from the error, its response or what caused it."""
    for one in _causes(error):
        for holder in (one, getattr(one, "response", None)):
            for name in ("status_code", "http_status", "status", "code"):
                value = getattr(holder, name, None)
                if isinstance(value, int) and 100 <= value <= 599:
                    return int(value)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was explicitly raised from."""
    one: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__


def _detail(error: Exception) -> str:
    """The first line of the exception's text, with everything that may be a key masked."""
    lines = str(error)[: 4 * _MAX_DETAIL].strip().splitlines()
    return _SECRET.sub(r"\1\2***", lines[0])[:_MAX_DETAIL] if lines else ""
