"""What the author of a `@capability` says of its effect: functions beside the function."""

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from checkrein.adapters.function_result import bounded, plain
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.codec import visible
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.folding import folded_line, folded_text
from checkrein.contracts.secrets import masked
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.ports.capability import CapabilitySpec, Permit, Verification

OfArgs = Callable[[dict[str, Any]], str]
"""Derives a text from the arguments: deterministic, without touching the world."""

ReadVersion = Callable[[dict[str, Any]], Awaitable[str]]
"""Reads the version that the object of the arguments has now."""

Preview = Callable[[dict[str, Any]], str | Awaitable[str]]
"""Says for people what a call with these arguments would do. Changes nothing."""

Find = Callable[[Effect], Awaitable[Outcome | None]]
"""Asks the target for an effect: COMMITTED where it holds it under the same hash, else None."""

Verify = Callable[[Effect], Awaitable[Verification | bool]]
"""Reads the real system back after a receipt."""

KEY, HASH = "idempotency_key", "operation_hash"
INJECTED = frozenset({KEY, HASH})
"""Keyword-only parameters of a write that are filled in from its permit, never by a model."""

_MAX_DERIVED = 1024
_MAX_PREVIEW = 200_000
_MAX_VALUE = 2_000
_PASSING = (ConnectionError, TimeoutError)


@dataclass(frozen=True)
class EffectFunctions:
    """The functions that a declaration brings besides the one that acts; None: not declared."""

    resource: OfArgs | None = None
    key: OfArgs | None = None
    read_version: ReadVersion | None = None
    preview: Preview | None = None
    find: Find | None = None
    verify: Verify | None = None

    def named(self, spec: CapabilitySpec, args: dict[str, Any]) -> str:
        """The object of a call.

        Raises:
            CapabilityError: the declared function failed (code resource_failed).
        """
        if self.resource is None:
            return spec.name
        return _derived(spec, "resource", self.resource, args)

    def keyed(self, spec: CapabilitySpec, action_id: str, args: dict[str, Any]) -> str:
        """The business key of a call.

        Raises:
            CapabilityError: the declared function failed (code key_failed).
        """
        return action_id if self.key is None else _derived(spec, "key", self.key, args)

    async def version(self, spec: CapabilitySpec, args: dict[str, Any]) -> str:
        """The version of the object now; empty where none is declared.

        Raises:
            CapabilityError: it could not be read (code version_failed), now or at all.
        """
        if self.read_version is None:
            return ""
        op = f"{spec.name}.version"
        try:
            found: Any = await self.read_version(dict(args))
        except CapabilityError:
            raise
        except Exception as error:
            raise failure(spec, error, op, code="version_failed") from error
        return _text(spec, found, "version", op)

    async def shown(self, spec: CapabilitySpec, args: dict[str, Any]) -> str:
        """What a call would do, for people; by default the call itself.

        Raises:
            EnvironmentFault: the declared preview failed. It is no CapabilityError on purpose: no
                model can mend it, and what nobody can be shown is not done.
        """
        if self.preview is None:
            return _call(spec, args)
        op = f"{spec.name}.preview"
        try:
            said: Any = self.preview(dict(args))
            text: Any = await said if inspect.isawaitable(said) else said
        except Exception as error:
            raise _unshown(spec, f"failed: {type(error).__name__}", op) from error
        if not isinstance(text, str) or not text.strip():
            raise _unshown(spec, "said nothing", op)
        return folded_text(visible(text), _MAX_PREVIEW)

    def preview_kind(self, spec: CapabilitySpec) -> PreviewKind:
        """A message where the author shows what is sent to somebody outside, else plain text."""
        sent = self.preview is not None and spec.egress
        return PreviewKind.MESSAGE if sent else PreviewKind.TEXT

    async def found(self, spec: CapabilitySpec, effect: Effect) -> Outcome | None:
        """What the target says of an effect; None where it cannot be asked at all.

        Raises:
            CapabilityError: it cannot be asked now (code target_unreachable, retryable), or
                `find` returned something else (code find_failed).
        """
        if self.find is None:
            return None
        op = f"{spec.name}.lookup"
        try:
            outcome: Any = await self.find(effect)
        except CapabilityError:
            raise
        except Exception as error:
            kind = type(error).__name__
            raise CapabilityError(
                f"The target of {spec.name} could not be asked what happened: {kind}.",
                op=op,
                code="target_unreachable",
                retryable=True,
                context={"error_type": kind},
            ) from error
        if outcome is None or isinstance(outcome, Outcome):
            return outcome
        raise CapabilityError(
            f"The find of {spec.name} returned a {type(outcome).__name__}, no Outcome and no None.",
            op=op,
            code="find_failed",
        )

    async def verified(self, spec: CapabilitySpec, effect: Effect) -> Verification:
        """What reading the real system back says.

        Raises:
            CapabilityError: none is declared (code not_supported), or it failed (verify_failed).
        """
        op = f"{spec.name}.verify"
        if self.verify is None:
            raise CapabilityError(f"{spec.name} declares no verify.", op=op, code="not_supported")
        try:
            said: Any = await self.verify(effect)
        except CapabilityError:
            raise
        except Exception as error:
            raise failure(spec, error, op, code="verify_failed") from error
        if isinstance(said, Verification):
            return said
        if isinstance(said, bool):
            return Verification(holds=said)
        return Verification(holds=False, detail=f"verify returned a {type(said).__name__}")


def filled(injected: frozenset[str], permit: Permit) -> dict[str, str]:
    """The injected arguments of one send: the scoped key, and what is bound under it."""
    known = {KEY: permit.effect_id, HASH: permit.operation_hash}
    return {name: known[name] for name in injected}


def unknown(error_type: str, message: str) -> Outcome:
    """Nobody can say what became of a send."""
    return Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type=error_type, message=message)


def committed(result: object, op: str) -> Outcome:
    """The receipt. A result that cannot be stored takes nothing from the fact that it happened."""
    try:
        shown, _ = bounded(plain(result, op=op))
    except CapabilityError as error:
        shown = {"unreadable_result": error.code}
    return Outcome(status=EffectStatus.COMMITTED, result=shown)


def failure(
    spec: CapabilitySpec, error: Exception, op: str, *, code: str = "capability_failed"
) -> CapabilityError:
    """The error of an author's function without its text, which may hold a secret."""
    kind = type(error).__name__
    return CapabilityError(
        f"{spec.name} failed: {kind}.",
        op=op,
        code=code,
        retryable=isinstance(error, _PASSING),
        context={"error_type": kind},
    )


def _derived(spec: CapabilitySpec, what: str, function: OfArgs, args: dict[str, Any]) -> str:
    op = f"{spec.name}.{what}"
    try:
        text: Any = function(dict(args))
    except Exception as error:
        raise failure(spec, error, op, code=f"{what}_failed") from error
    return _text(spec, text, what, op)


def _text(spec: CapabilitySpec, text: Any, what: str, op: str) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_DERIVED:
        raise CapabilityError(
            f"The {what} of {spec.name} is no text of 1 to {_MAX_DERIVED} characters.",
            op=op,
            code=f"{what}_failed",
        )
    return visible(text)


def _unshown(spec: CapabilitySpec, what: str, op: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"The preview of {spec.name} {what}. Mend its preview function; what cannot be shown is "
        "not done.",
        op=op,
        code="preview_unavailable",
    )


def _call(spec: CapabilitySpec, args: dict[str, Any]) -> str:
    """What would be called, for people."""
    lines = [spec.type]
    for name, value in sorted(masked(args)[0].items()):
        text = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        lines.append(f"  {name}: {folded_line(text, _MAX_VALUE)}")
    return "\n".join(lines)
