"""Failed model calls: retryable by kind and status, and without a word of what they said."""

import pytest

from checkrein.adapters.model_faults import model_error


class APIStatusError(Exception):
    """Shaped like the errors of providers' clients."""

    def __init__(self, message: str, status_code: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code


class Response:
    """Shaped like httpx's."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    """Shaped like httpx's."""

    def __init__(self, status_code: int) -> None:
        super().__init__("rate limit exceeded, retry later")
        self.response = Response(status_code)


class TransportError(Exception):
    """Shaped like httpx's."""


class ReadTimeoutError(TransportError):
    """Shaped like httpx's."""


class APIConnectionError(Exception):
    """Shaped like the errors of providers' clients."""


class ProviderError(Exception):
    """What a wrapper raises from another error."""


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529, 599])
def test_passing_status_is_retryable(status: int) -> None:
    assert model_error(APIStatusError("no", status), "m").retryable
    assert model_error(HTTPStatusError(status), "m").retryable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_lasting_status_is_not_whatever_the_words_say(status: int) -> None:
    assert not model_error(APIStatusError("rate limit, try again", status), "m").retryable
    assert not model_error(HTTPStatusError(status), "m").retryable


@pytest.mark.parametrize(
    "error",
    [TimeoutError(), ConnectionResetError(), ReadTimeoutError("x"), APIConnectionError("x")],
)
def test_connection_faults_are_retryable(error: Exception) -> None:
    assert model_error(error, "m").retryable
    assert model_error(error, "m").code == "model_unavailable"


@pytest.mark.parametrize(
    "error", [ValueError("connection timeout 503"), KeyError("x"), RuntimeError("429")]
)
def test_other_faults_are_not(error: Exception) -> None:
    assert not model_error(error, "m").retryable
    assert model_error(error, "m").code == "model_failed"


def test_cause_is_looked_at() -> None:
    error = ProviderError("wrapped")
    error.__cause__ = APIStatusError("busy", 503)
    assert model_error(error, "m").retryable


def test_spent_quota_does_not_pass() -> None:
    assert not model_error(APIStatusError("x", 429, code="insufficient_quota"), "m").retryable


@pytest.mark.shows(50)
def test_text_of_the_exception_never_reaches_the_message() -> None:
    secret = "sk-proj-abcdefghijklmnop0123456789"
    error = APIStatusError(f"Incorrect API key provided: {secret}\nprompt: hello", 401)
    told = model_error(error, "openai:gpt-5")
    assert str(told) == (
        "The model openai:gpt-5 failed: APIStatusError, status 401. Check the API key."
    )
    assert secret not in repr(told.context)
    assert "hello" not in repr(told.context)
    assert told.context["status"] == 401


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cr3t",
        "api_key='s3cr3t'",
        "password=s3cr3t",
        "token s3cr3ts3cr3ts3cr3ts3cr3t",
        "https://user:s3cr3ts3cr3ts3cr3ts3cr3ts3cr3t@host",
    ],
)
def test_detail_is_masked_and_bounded(text: str) -> None:
    told = model_error(ValueError(text + " " + "long " * 1000), "m")
    detail = str(told.context["detail"])
    assert "s3cr3t" not in detail
    assert len(detail) <= 200
