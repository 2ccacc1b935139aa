"""What an HTTP answer proves. Only what is well-formed and about our operation is believed."""

import json
from collections.abc import Iterable
from typing import Any, NoReturn, cast

from checkrein.adapters.function_result import bounded
from checkrein.adapters.http_client import Answer, Lost
from checkrein.adapters.http_declaration import OPERATION_HASH, HttpDeclaration
from checkrein.contracts.codec import clean, visible
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, InputError

MAX_MESSAGE = 500
"""Longest text of a target that is quoted in a message, in characters."""

BOUND_TO_OTHER_ARGS = "bound_to_other_args"
KEY_REUSED = "key_reused_with_other_args"

_NOT_DEFINITE = frozenset({408, 409, 425, 429})
_LONGEST_PAUSE_S = 3600.0


def strict_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object: UTF-8, no name twice, no NaN, no number that readers would bend.

    Raises:
        InputError: it is none; the message quotes nothing of it.
    """
    try:
        value: Any = json.loads(
            data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise _no_object("is no strict JSON") from error
    if not isinstance(value, dict):
        raise _no_object("is JSON, but no object")
    return cast(dict[str, Any], clean(value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _no_constant(name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


def _no_object(why: str) -> InputError:
    return InputError(f"The answer {why}.", op="http_target.read", code="bad_answer")


def json_of(answer: Answer) -> dict[str, Any] | Lost:
    """The object that an answer holds, or why it is not believed."""
    kind = answer.content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        return Lost("wrong_content_type", "the answer is not declared as application/json")
    try:
        return strict_object(answer.body)
    except InputError as error:
        return Lost("bad_answer", str(error).rstrip(".").lower())


def record_of(answer: Answer, declared: HttpDeclaration) -> dict[str, Any] | Lost:
    """The record that an answer holds, or why there is none to be believed."""
    body = json_of(answer)
    if isinstance(body, Lost) or declared.record is None:
        return body
    record: Any = body.get(declared.record)
    if not isinstance(record, dict):
        return Lost("bad_answer", f"the answer holds no {declared.record}")
    return cast(dict[str, Any], record)


def of_send(
    got: Answer | Lost, declared: HttpDeclaration, operation_hash: str, secrets: Iterable[str]
) -> Outcome:
    """What a send came to.

    Raises:
        CapabilityError: it is certain that nothing happened, and a repeat may succeed: code
            target_unreachable or target_busy.
    """
    if isinstance(got, Lost):
        if not got.sent:
            raise unreachable(declared.name, "send", got.message)
        return unknown(got.error_type, got.message)
    if 200 <= got.status < 300:
        return _of_success(record_of(got, declared), declared, operation_hash, secrets)
    if 300 <= got.status < 400:
        return unknown("redirected", f"it redirects ({got.status}), which is not followed")
    said = json_of(got)
    body: dict[str, Any] = {} if isinstance(said, Lost) else said
    definite = got.status < 500 and got.status not in _NOT_DEFINITE
    if got.status in declared.without_effect or (not definite and body.get("effect") is False):
        raise busy(declared.name, got)
    if definite:
        return _refused(got.status, body, secrets)
    return unknown(f"http_{got.status}", f"it answered {got.status} without saying what happened")


def _of_success(
    record: dict[str, Any] | Lost,
    declared: HttpDeclaration,
    operation_hash: str,
    secrets: Iterable[str],
) -> Outcome:
    if isinstance(record, Lost):
        return unknown(record.error_type, record.message)
    if record.get("status") not in declared.committed:
        return unknown("not_settled", "it accepted the request, but does not say that it happened")
    return bound(record, operation_hash, secrets)


def bound(record: dict[str, Any], operation_hash: str, secrets: Iterable[str]) -> Outcome:
    """COMMITTED where the record is bound to our operation; a record of another is not believed."""
    found = record.get(OPERATION_HASH)
    if found is None:
        return unknown("unbound_answer", f"its record names no {OPERATION_HASH}")
    if found != operation_hash:
        return unknown(
            BOUND_TO_OTHER_ARGS,
            "the target has something else under this key: other arguments, or another's act",
        )
    shown, _ = bounded(without_secrets(record, secrets))
    return Outcome(status=EffectStatus.COMMITTED, result=shown)


def _refused(status: int, body: dict[str, Any], secrets: Iterable[str]) -> Outcome:
    reused = status == 422 and body.get("error") == KEY_REUSED
    words = [
        body[name] for name in ("error", "message", "detail") if isinstance(body.get(name), str)
    ]
    quoted = without_secrets(visible(": ".join(words)), secrets)[:MAX_MESSAGE]
    return Outcome(
        status=EffectStatus.REFUSED,
        result={"status": status},
        error_type=KEY_REUSED if reused else f"http_{status}",
        message=f"The target refused it with {status}" + (f": {quoted}" if quoted else ""),
    )


def unknown(error_type: str, why: str) -> Outcome:
    """Nobody can say whether it happened."""
    return Outcome(
        status=EffectStatus.UNKNOWN_EFFECT,
        error_type=error_type,
        message=f"Whether it happened is not known: {why}.",
    )


def unreachable(name: str, verb: str, why: str) -> CapabilityError:
    """The target cannot be asked now; this request changed nothing."""
    return CapabilityError(
        f"The target of {name} cannot be reached: {why}. Check that it runs and its address.",
        op=f"{name}.{verb}",
        code="target_unreachable",
        advice="Try the same call again later.",
        retryable=True,
    )


def busy(name: str, answer: Answer) -> CapabilityError:
    """The target states that nothing happened and that it may later."""
    context: dict[str, object] = {"status": answer.status}
    if answer.retry_after.isascii() and answer.retry_after.isdigit():
        context["retry_after_s"] = min(float(answer.retry_after[:9]), _LONGEST_PAUSE_S)
    return CapabilityError(
        f"The target of {name} answered {answer.status} and did nothing.",
        op=f"{name}.send",
        code="target_busy",
        advice="Try the same call again later.",
        retryable=True,
        context=context,
    )


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """The value with every secret that a target echoed taken out of its text."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[secret]")
        return value
    if isinstance(value, list):
        items = cast(list[object], value)
        return [without_secrets(item, secrets) for item in items]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {
            without_secrets(name, secrets): without_secrets(item, secrets)
            for name, item in fields.items()
        }
    return value
