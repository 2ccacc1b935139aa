"""The mail deliverer, on a real mail server over a real socket: encrypted, exact, and bounded."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import certificates
import pytest
from receivers import MailReceiver, mails
from told import NASTY, message

from checkrein.adapters.deliver_email import EmailDeliverer, mail_of
from checkrein.adapters.deliverer_spec import EmailSpec
from checkrein.errors import DeliveryError

PLAIN = ssl.create_default_context()


def mailer(server: MailReceiver, trust: ssl.SSLContext = PLAIN, **fields: Any) -> EmailDeliverer:
    given = {"host": "127.0.0.1", "port": server.port, "security": "none", "timeout_s": 5}
    more = {"name": "mail", "kind": "email", "sender": "gate@example.com"}
    spec = EmailSpec.model_validate(more | given | {"to": ["bob@example.com"]} | fields)
    return EmailDeliverer(spec, server.password or None, trust)


async def refused(deliverer: EmailDeliverer) -> DeliveryError:
    with pytest.raises(DeliveryError) as told:
        await deliverer.deliver(message())
    return told.value


async def test_a_mail_says_what_is_asked_and_is_known_again() -> None:
    """Protects: the same message is the same mail at every try, and can be answered."""
    async with mails() as server:
        deliverer = mailer(server, to=["bob@example.com", "ops@example.com"])
        assert await deliverer.deliver(message()) == ""
        await deliverer.deliver(message())
    first, second = server.read
    assert first["Message-ID"] == second["Message-ID"] == f"<{message().key}@example.com>"
    assert first["To"] == "bob@example.com, ops@example.com"
    assert first["Subject"] == "[checkrein] Approval wanted: orders.refund@1 on order:17"
    assert first["X-Checkrein-Key"] == message().key
    assert (first["Auto-Submitted"], first.get_content_type()) == ("auto-generated", "text/plain")
    text = server.texts[0]
    assert "checkrein approve apr_1 --as WHO" in text
    assert "Preview:\n\nrefund" in text


async def test_who_is_written_to_goes_by_role() -> None:
    """Protects people from requests that they cannot answer, and nobody is written to twice."""
    by_role = {"approver": ["bob@example.com", "eve@example.com"], "lead": ["dora@example.com"]}
    async with mails() as server:
        await mailer(server, by_role=by_role).deliver(message())
        error = await refused(mailer(server, to=[], by_role={"lead": ["dora@example.com"]}))
    assert [line for line in server.lines if line.startswith("rcpt")] == [
        "rcpt TO:<bob@example.com>",
        "rcpt TO:<eve@example.com>",
    ]
    assert error.final and "role approver" in str(error)


async def test_nothing_that_a_model_wrote_gets_into_a_header_or_hides() -> None:
    """Protects a reader: no header, no recipient and no hidden character comes from a text."""
    told = message(request={"resource": NASTY, "purpose": NASTY, "preview": "+ a\n.\n.. b\n"})
    async with mails() as server:
        await mailer(server).deliver(told)
    (mail,) = server.read
    assert mail["Bcc"] is None and mail["To"] == "bob@example.com"
    assert [line for line in server.lines if line.lower().startswith("rcpt")] == [
        "rcpt TO:<bob@example.com>"
    ]
    text = server.texts[0] + str(mail["Subject"])
    assert not {"\x1b", "\x07", "\u202e", "\x00"} & set(text)
    assert "\\u202e" in text and "\\u001b" in text
    assert "+ a\n.\n.. b\n" in server.texts[0]
    assert b"\nBcc:" not in server.mails[0]


def test_a_title_with_a_line_break_is_refused_whatever_made_it() -> None:
    """Protects headers even where a text was not made safe before."""
    told = message().model_copy(update={"title": "a\r\nBcc: evil@example.com"})
    with pytest.raises(ValueError, match="linefeed"):
        mail_of(told, "gate@example.com", ["bob@example.com"])


async def test_starttls_or_nothing(tmp_path: Path) -> None:
    """Protects mails and passwords from going out in the clear because a server lacks TLS."""
    ca, context = certificates.made(tmp_path)
    trust = ssl.create_default_context(cafile=str(ca))
    trust.check_hostname = False
    async with mails() as server:
        error = await refused(mailer(server, security="starttls"))
    assert (server.mails, "SMTPNotSupportedError" in str(error)) == ([], True)
    async with mails(MailReceiver(trust=context, password="hush")) as server:
        secure: dict[str, Any] = {"security": "starttls", "username": "gate", "password_env": "P"}
        await mailer(server, trust, **secure).deliver(message())
        assert server.encrypted == [True]
        assert any(line.startswith("AUTH PLAIN") for line in server.lines)
        error = await refused(mailer(server, **secure))
        assert "SSLCertVerificationError" in str(error) and len(server.mails) == 1


async def test_the_certificate_must_be_good_for_the_host(tmp_path: Path) -> None:
    """Protects from a server with somebody else's certificate."""
    ca, context = certificates.made(tmp_path)
    trust = ssl.create_default_context(cafile=str(ca))
    async with mails(MailReceiver(trust=context)) as server:
        error = await refused(mailer(server, trust, security="starttls"))
    assert "SSLCertVerificationError" in str(error)
    assert server.mails == []


async def test_who_is_refused_for_good_and_who_for_now() -> None:
    """Protects: a full mailbox is tried again, an address that is wrong is not, and is told of."""
    people = ["bob@example.com", "eve@example.com"]
    async with mails(MailReceiver(refuse={"bob@example.com": 550})) as server:
        assert await mailer(server, to=people).deliver(message()) == "not for 1 of 2 recipients"
        error = await refused(mailer(server))
        assert (error.final, "550" in str(error)) == (True, True)
    async with mails(MailReceiver(refuse={"bob@example.com": 452})) as server:
        assert not (await refused(mailer(server))).final
        assert not (await refused(mailer(server, to=people))).final


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"greeting": "554 no service"}, "554"),
        ({"greeting": "garbage"}, "answered -1"),
        ({"after_data": "451 secret reason"}, "451"),
        ({"after_data": "554 secret reason"}, "554"),
    ],
)
async def test_whatever_is_no_yes_is_tried_again(changes: dict[str, str], told: str) -> None:
    """Protects a mail from being taken for delivered; what the server said is not repeated."""
    async with mails(MailReceiver(**changes)) as server:  # type: ignore[arg-type] # two text fields
        error = await refused(mailer(server))
    assert not error.final and "secret" not in str(error)
    assert told in str(error)


async def test_nobody_there() -> None:
    """Protects: a server that is down is a failure with a reason."""
    async with mails() as server:
        deliverer = mailer(server)
    assert "ConnectionRefusedError" in str(await refused(deliverer))


@pytest.mark.parametrize("slow", ["hang", "drip"])
@pytest.mark.parametrize("place", ["greeting", "after_data"])
async def test_a_server_that_is_endless_is_broken_off(slow: str, place: str) -> None:
    """Protects the process from a thread that a server keeps busy for hours."""
    async with mails(MailReceiver(**{place: slow})) as server:  # type: ignore[arg-type] # text
        error = await refused(mailer(server, timeout_s=1))
    assert not error.final


async def test_being_cut_off_ends_the_thread() -> None:
    """Protects: a delivery that is cancelled leaves no conversation behind."""
    async with mails(MailReceiver(greeting="drip")) as server:
        trying = asyncio.ensure_future(mailer(server, timeout_s=60).deliver(message()))
        await asyncio.sleep(0.2)
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
