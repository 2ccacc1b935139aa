"""The deliverers that a file names, made ready: which adapter, with which secret."""

import base64
import binascii
import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.deliver_command import CommandDeliverer
from checkrein.adapters.deliver_email import EmailDeliverer
from checkrein.adapters.deliver_log import LogDeliverer
from checkrein.adapters.deliver_webhook import WebhookDeliverer
from checkrein.adapters.deliverer_spec import (
    AnySpec,
    CommandSpec,
    DelivererSpec,
    EmailSpec,
    LogSpec,
    load_deliverers,
)
from checkrein.adapters.system_clock import SystemClock
from checkrein.errors import InputError
from checkrein.ports.deliverer import Deliverer
from checkrein.settings import Settings

_OP = "deliverers.open"
_PREFIX = "whsec_"
_SHORTEST_KEY = 16


def open_deliverers(settings: Settings, environ: Mapping[str, str] = os.environ) -> list[Deliverer]:
    """Make the deliverers that CHECKREIN_DELIVERERS names; nothing is connected to yet.

    Raises:
        InputError: none are named, the file cannot be used, or a secret is not there.
    """
    if settings.deliverers is None:
        raise InputError(
            "No deliverers are set up. Let CHECKREIN_DELIVERERS name a file of them; "
            "docs/delivery.md shows one. `checkrein deliver --list` works without.",
            op=_OP,
            code="no_deliverers",
        )
    specs = load_deliverers(Path(settings.deliverers))
    return [_opened(spec, settings.home, environ) for spec in specs]


def _opened(spec: AnySpec, home: Path, environ: Mapping[str, str]) -> Deliverer:
    if isinstance(spec, LogSpec):
        return LogDeliverer(spec, home)
    if isinstance(spec, CommandSpec):
        return CommandDeliverer(spec, home, LocalCommandRunner())
    trust = _trust(spec, spec.ca_file)
    if isinstance(spec, EmailSpec):
        password = spec.password_env and _secret(spec, spec.password_env, environ)
        return EmailDeliverer(spec, password, trust)
    key = _key(spec, spec.secret_env, _secret(spec, spec.secret_env, environ))
    return WebhookDeliverer(spec, key, trust, SystemClock())


def _secret(spec: DelivererSpec, variable: str, environ: Mapping[str, str]) -> str:
    found = environ.get(variable)
    if not found:
        raise _unusable(spec, f"the environment variable {variable} is not set")
    return found


def _key(spec: DelivererSpec, variable: str, text: str) -> bytes:
    """The key of the signatures: what `whsec_` is put before in base64, or the text itself."""
    key = text.encode("utf-8", "surrogateescape")
    if text.startswith(_PREFIX):
        try:
            key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError) as error:
            raise _unusable(spec, f"{variable} holds no base64 after {_PREFIX}") from error
    if len(key) < _SHORTEST_KEY:
        raise _unusable(spec, f"{variable} holds a key of less than {_SHORTEST_KEY} bytes")
    return key


def _trust(spec: DelivererSpec, ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise _unusable(spec, f"the certificates in {ca_file} cannot be used ({why})") from error


def _unusable(spec: DelivererSpec, problem: str) -> InputError:
    return InputError(
        f"The deliverer {spec.name} cannot be used: {problem}.", op=_OP, code="deliverer_unusable"
    )
