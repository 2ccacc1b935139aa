"""The file of deliverers: closed, without secrets, and every fault told by its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkrein.adapters.deliverer_spec import load_deliverers
from checkrein.deliverers import open_deliverers
from checkrein.errors import InputError
from checkrein.settings import Settings

HOOK = {"name": "ops", "kind": "webhook", "url": "https://hooks.example.com/x", "secret_env": "KEY"}
MAIL = {"name": "mail", "kind": "email", "host": "mail.example.com", "sender": "gate@example.com"}
TO = {"to": ["bob@example.com"]}
KEY = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def written(folder: Path, *deliverers: dict[str, Any]) -> Path:
    path = folder / "deliverers.yaml"
    path.write_text(json.dumps({"version": 1, "deliverers": list(deliverers)}), encoding="utf-8")
    return path


def fault(folder: Path, *deliverers: dict[str, Any]) -> str:
    with pytest.raises(InputError) as told:
        load_deliverers(written(folder, *deliverers))
    return str(told.value)


def test_all_four_kinds(tmp_path: Path) -> None:
    """Protects the file that the documentation shows."""
    text = (Path(__file__).parents[3] / "docs" / "delivery.md").read_text(encoding="utf-8")
    shown = text.partition("```yaml\n")[2].partition("```")[0]
    path = tmp_path / "deliverers.yaml"
    path.write_text(shown, encoding="utf-8")
    assert [spec.kind for spec in load_deliverers(path)] == ["log", "command", "webhook", "email"]
    environ = {"OPS_WEBHOOK_KEY": KEY, "MAIL_PASSWORD": "p"}
    settings = Settings(home=tmp_path, deliverers=str(path))
    names = [deliverer.name for deliverer in open_deliverers(settings, environ)]
    assert names == ["log", "pager", "ops", "mail"]


@pytest.mark.parametrize(
    ("deliverer", "told"),
    [
        ({"name": "a", "kind": "log", "colour": "red"}, "colour"),
        ({"name": "a", "kind": "pigeon"}, "kind"),
        ({"name": "A b", "kind": "log"}, "name"),
        ({"name": "a", "kind": "log", "path": "/etc/passwd"}, "path"),
        ({"name": "a", "kind": "log", "path": "../x"}, "path"),
        ({"name": "a", "kind": "log", "path": "a/../../x"}, "path"),
        ({"name": "a", "kind": "command", "argv": []}, "argv"),
        ({"name": "a", "kind": "command", "argv": "rm -rf"}, "argv"),
        (HOOK | {"url": "http://hooks.example.com/x"}, "allow_http"),
        (HOOK | {"url": "ftp://hooks.example.com/x"}, "https"),
        (HOOK | {"url": "https://bob:hush@hooks.example.com/x"}, "password"),
        (HOOK | {"url": "https://hooks.example.com/x#y"}, "fragment"),
        (HOOK | {"url": "/x"}, "url"),
        (HOOK | {"secret_env": "whsec_abc"}, "secret_env"),
        (HOOK | {"secret": "hush"}, "secret"),
        (MAIL, "recipients"),
        (MAIL | {"to": ["bob@example.com, eve@example.com"]}, "to[0]"),
        (MAIL | {"to": ["bob@example.com\r\nBcc: eve@example.com"]}, "to[0]"),
        (MAIL | {"to": ["Bob <bob@example.com>"]}, "to[0]"),
        (MAIL | TO | {"sender": "gate@example.com\nX: y"}, "sender"),
        (MAIL | TO | {"username": "gate"}, "password_env"),
        (MAIL | TO | {"username": "g", "password_env": "P", "security": "none"}, "security"),
        (MAIL | TO | {"give_up_after_days": 0}, "give_up_after_days"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    deliverer: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """Protects from a deliverer that does something else than its file seems to say."""
    assert told in fault(tmp_path, deliverer)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    """Protects the record of what was delivered: one name is one deliverer."""
    assert "two deliverers are called a" in fault(tmp_path, *[{"name": "a", "kind": "log"}] * 2)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "KEY is not set"),
        ({"KEY": "short"}, "less than 16 bytes"),
        ({"KEY": "whsec_!!!"}, "no base64"),
    ],
)
def test_a_secret_that_is_missing_is_told_at_once(
    environ: dict[str, str], told: str, tmp_path: Path
) -> None:
    """Protects from a night of deliveries that nobody can check; the secret is not repeated."""
    settings = Settings(home=tmp_path, deliverers=str(written(tmp_path, HOOK)))
    with pytest.raises(InputError) as refused:
        open_deliverers(settings, environ)
    assert told in str(refused.value) and "!!!" not in str(refused.value)


def test_certificates_that_are_not_there(tmp_path: Path) -> None:
    """Protects from falling back to other authorities than the file names."""
    settings = Settings(
        home=tmp_path, deliverers=str(written(tmp_path, HOOK | {"ca_file": "gone.pem"}))
    )
    with pytest.raises(InputError, match=r"gone\.pem cannot be used"):
        open_deliverers(settings, {"KEY": KEY})


def test_nothing_set_up_says_what_to_do(tmp_path: Path) -> None:
    """Protects a newcomer from silence."""
    with pytest.raises(InputError, match="CHECKREIN_DELIVERERS"):
        open_deliverers(Settings(home=tmp_path), {})
