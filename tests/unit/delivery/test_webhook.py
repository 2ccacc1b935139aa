"""The webhook deliverer, on a real receiver over a real socket: signed, bounded, and SSRF-safe."""

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from pathlib import Path
from typing import Any

import certificates
import pytest
from held_writes import waited
from receivers import HookReceiver, hooks, status
from told import message

from checkrein.adapters.deliver_webhook import WebhookDeliverer
from checkrein.adapters.deliverer_spec import WebhookSpec
from checkrein.errors import DeliveryError

SECRET = b"a key of twenty-four by."


class Clock:
    def now_ns(self) -> int:
        return 1_900_000_000_123_456_789


def hook(
    url: str,
    addresses: list[str] | None = None,
    trust: ssl.SSLContext | None = None,
    **fields: Any,
) -> WebhookDeliverer:
    given = {"allow_private": True, "allow_http": True, "timeout_s": 5} | fields
    spec = WebhookSpec.model_validate(
        {"name": "ops", "kind": "webhook", "url": url, "secret_env": "S"} | given
    )

    async def resolve(host: str, port: int) -> list[str]:
        return addresses or ["127.0.0.1"]

    return WebhookDeliverer(spec, SECRET, trust or ssl.create_default_context(), Clock(), resolve)


async def refused(deliverer: WebhookDeliverer) -> DeliveryError:
    with pytest.raises(DeliveryError) as told:
        async with asyncio.timeout(deliverer.limit_s):
            await deliverer.deliver(message())
    return told.value


@pytest.mark.parametrize("code", [200, 202, 204, 299])
async def test_it_is_signed_so_that_the_receiver_can_check_it(code: int) -> None:
    """Protects: a receiver can tell our messages from anybody else's, old ones and doubles."""
    async with hooks() as receiver:
        receiver.answers = [status(code)]
        assert await hook(receiver.url).deliver(message()) == ""
    (post,) = receiver.posts
    assert post.line == "POST /hook HTTP/1.1"
    assert post.key == message().key
    assert post.headers["webhook-timestamp"] == "1900000000"
    content = f"{post.key}.1900000000.".encode() + post.body
    wanted = base64.b64encode(hmac.new(SECRET, content, hashlib.sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{wanted}"
    assert post.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert json.loads(post.body) == message().model_dump(mode="json")
    assert post.body.isascii()


@pytest.mark.parametrize("code", [301, 302, 307, 308, 400, 401, 404, 409, 429, 500, 503])
async def test_whatever_is_no_yes_is_tried_again(code: int) -> None:
    """Protects a message from being taken for delivered by an answer that says no such thing."""
    async with hooks() as receiver:
        receiver.answers = [status(code, "Retry-After: 120", "Location: http://127.0.0.1:1/x")]
        error = await refused(hook(receiver.url))
    assert (error.final, error.wait_s, str(code) in str(error)) == (False, 120.0, True)
    assert len(receiver.posts) == 1


async def test_gone_gives_up() -> None:
    """Protects a receiver that wants no more from being asked for days."""
    async with hooks() as receiver:
        receiver.answers = [status(410)]
        assert (await refused(hook(receiver.url))).final


async def test_a_redirect_to_a_private_address_is_not_followed() -> None:
    """Protects what lies behind our network from whoever answers a webhook."""
    async with hooks() as inside, hooks() as receiver:
        receiver.answers = [status(302, f"Location: {inside.url}")]
        error = await refused(hook(receiver.url))
    assert "302" in str(error)
    assert inside.posts == []


@pytest.mark.parametrize(
    "answer",
    [b"hang", b"drop", b"garbage\r\n\r\n", b"HTTP/1.1 2xx No\r\n\r\n", b"HTTP/1.1 200"],
)
async def test_what_is_no_answer_is_no_yes(answer: bytes) -> None:
    """Protects: no answer, half of one, and none of HTTP are failures, in time."""
    async with hooks() as receiver:
        receiver.answers = [answer]
        deliverer = hook(receiver.url, timeout_s=1)
        with pytest.raises((DeliveryError, TimeoutError)):
            async with asyncio.timeout(deliverer.limit_s):
                await deliverer.deliver(message())


async def test_an_answer_of_5_mb_is_not_read_to_its_end() -> None:
    """Protects our memory; what the status says stands, however much follows."""
    async with hooks() as receiver:
        receiver.answers = [status(200, body=b"x" * 5_000_000)]
        assert await hook(receiver.url).deliver(message()) == ""


async def test_nothing_is_said_about_the_secret_or_the_url() -> None:
    """Protects secrets that stand in URLs from the list of deliveries."""
    async with hooks() as receiver:
        receiver.always = status(500, body=b"you sent " + SECRET)
        error = await refused(hook(receiver.url + "?token=hush"))
        assert "hush" not in str(error) and SECRET.decode() not in str(error)
    error = await refused(hook(receiver.url + "?token=hush"))
    assert "No connection" in str(error) and "hush" not in str(error)


PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",  # noqa: S104 - an address to be refused
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a00:1::",
    "2001::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
]


@pytest.mark.parametrize("address", PRIVATE)
async def test_a_name_that_leads_inside_is_not_connected_to(address: str) -> None:
    """Protects everything that is not public from a webhook's host (SSRF), in every spelling."""
    deliverer = hook("https://receiver.test/hook", [address], allow_private=False)
    error = await refused(deliverer)
    assert "not public" in str(error) and "Nothing was sent" in str(error)


async def test_one_private_address_among_public_ones_spoils_them_all() -> None:
    """Protects: a name cannot lead inside by its second address."""
    deliverer = hook("https://receiver.test/hook", ["8.8.8.8", "10.0.0.1"], allow_private=False)
    assert "not public" in str(await refused(deliverer))


@pytest.mark.parametrize("url", ["http://127.1/", "http://2130706433/", "http://0x7f.1/"])
async def test_an_address_in_the_url_is_no_way_round(url: str) -> None:
    """Protects from numbers that only resolvers take for addresses."""
    async with hooks() as receiver:
        spec = {"allow_private": False, "allow_http": True}
        named = WebhookSpec.model_validate(
            {"name": "ops", "kind": "webhook", "url": f"{url[:-1]}:{receiver.port}/"}
            | {"secret_env": "S"}
            | spec
        )
        deliverer = WebhookDeliverer(named, SECRET, ssl.create_default_context(), Clock())
        assert "not public" in str(await refused(deliverer))
    assert receiver.posts == []


async def test_the_name_is_looked_up_once_for_each_try() -> None:
    """Protects from a name that answers differently the second time (DNS rebinding)."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async with hooks() as receiver:
        spec = WebhookSpec(
            name="ops",
            kind="webhook",
            url=f"http://receiver.test:{receiver.port}/hook",
            secret_env="S",
            allow_http=True,
            allow_private=True,
        )
        trust = ssl.create_default_context()
        await WebhookDeliverer(spec, SECRET, trust, Clock(), rebinding).deliver(message())
    assert asked == ["receiver.test"]
    assert receiver.posts[0].headers["host"] == f"receiver.test:{receiver.port}"


async def test_the_next_address_is_tried_where_the_first_is_dead() -> None:
    """Protects: a receiver with one dead address of two still gets its messages, once."""
    async with hooks() as receiver:
        deliverer = hook(
            f"http://receiver.test:{receiver.port}/", ["::1", "127.0.0.1"], timeout_s=4
        )
        await deliverer.deliver(message())
    assert len(receiver.posts) == 1


async def test_the_certificate_is_checked_against_the_name(tmp_path: Path) -> None:
    """Protects: connecting to a looked-up address loses nothing of what TLS proves."""
    ca, server = certificates.made(tmp_path)
    trust = ssl.create_default_context(cafile=str(ca))
    async with hooks(trust=server) as receiver:
        good = f"https://{certificates.NAME}:{receiver.port}/hook"
        assert await hook(good, trust=trust).deliver(message()) == ""
        other = hook(f"https://other.test:{receiver.port}/hook", trust=trust)
        assert "No connection" in str(await refused(other))
        assert "No connection" in str(await refused(hook(good)))
    assert len(receiver.posts) == 1
    assert receiver.peer_names[:2] == [certificates.NAME, "other.test"]


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects messages from a proxy that nobody named in the file."""
    async with hooks() as proxy, hooks() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        await hook(receiver.url).deliver(message())
    assert (len(receiver.posts), proxy.posts) == (1, [])


async def test_being_cut_off_leaves_no_connection_open() -> None:
    """Protects: a receiver that hangs keeps nothing of ours."""
    receiver = HookReceiver(always=b"hang")
    async with hooks(receiver=receiver):
        trying = asyncio.ensure_future(hook(receiver.url).deliver(message()))
        await asyncio.to_thread(waited, lambda: bool(receiver.posts))
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
