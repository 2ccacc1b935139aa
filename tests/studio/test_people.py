"""Who is signed in: the file of tokens, and what is wrong with one."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.auth.types import StudioUser

from checkrein.errors import InputError
from checkrein.studio_people import TOKENS, Person, find, of_user, read_people, signed_in

BOB = Person(person="bob", tenant="local")


def entry(token: str, **value: Any) -> dict[str, Any]:
    return {hashlib.sha256(token.encode()).hexdigest(): value}


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """A file in which `secret` is bob's token."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps(entry("secret", person="bob", tenant="local")))
    return file


@pytest.mark.parametrize(
    ("header", "person"),
    [
        ("Bearer secret", BOB),
        ("bearer  secret ", BOB),
        ("Bearer Secret", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic secret", None),
        ("secret", None),
        ("", None),
        (None, None),
        ("Bearer " + hashlib.sha256(b"secret").hexdigest(), None),
    ],
)
async def test_only_a_known_token_signs_in(
    tokens: Path, header: str | None, person: Person | None
) -> None:
    """Protects the door: the token itself is needed, and what stands in the file is none."""
    assert await signed_in(header, {TOKENS: str(tokens)}) == person


def test_token_taken_out_is_worth_nothing_at_once(tokens: Path) -> None:
    """Protects revocation without a restart."""
    environ = {TOKENS: str(tokens)}
    assert asyncio.run(signed_in("Bearer secret", environ)) == BOB
    tokens.write_text("{}")
    assert asyncio.run(signed_in("Bearer secret", environ)) is None


@pytest.mark.parametrize("environ", [{}, {TOKENS: ""}, {TOKENS: "/no/such/file"}])
async def test_without_a_file_nobody_gets_in(environ: dict[str, str]) -> None:
    """Protects that a server that nobody set up lets nobody in, and says what to set."""
    with pytest.raises(InputError, match=TOKENS):
        await signed_in("Bearer secret", environ)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "no json",
        json.dumps({"secret": {"person": "bob", "tenant": "local"}}),
        json.dumps(entry("secret", person="bob")),
        json.dumps(entry("secret", person="", tenant="local")),
        json.dumps(entry("secret", person="bob", tenant="local", admin=True)),
        json.dumps(entry("secret", person=["bob"], tenant="local")),
        " " * (1024 * 1024 + 1),
    ],
)
def test_unusable_file_is_refused_whole(tmp_path: Path, text: str) -> None:
    """Protects against half a file: one bad entry, and nobody is known."""
    file = tmp_path / "tokens.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"tokens\.json cannot be used") as caught:
        read_people(file)
    assert "secret" not in str(caught.value)


def test_no_secret_is_needed_to_look_one_up() -> None:
    """Protects that an empty list and an empty token find nobody."""
    assert find({}, "secret") is None
    assert find({hashlib.sha256(b"x").hexdigest(): BOB}, "") is None


def test_user_of_another_scheme_is_nobody() -> None:
    """Protects the handlers, should the server's own studio scheme ever be switched on."""
    assert of_user(None) is None
    assert of_user(StudioUser("bob", is_authenticated=True)) is None  # type: ignore[arg-type]
