"""Deliver by mail: plain text over SMTP, encrypted, with a Message-ID that stays the same.

smtplib blocks, so it works in a thread; when the time is up its socket is shut under it, and the
thread ends by that.
"""

import asyncio
import contextlib
import smtplib
import socket
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from checkrein.adapters.deliverer_spec import EmailSpec
from checkrein.contracts.message import ApprovalMessage
from checkrein.errors import DeliveryError

_OP = "deliver.email"
_GRACE_S = 5.0
_LOOK_S = 0.2
_READY, _PERMANENT = 220, 500


class EmailDeliverer:
    """ports.deliverer.Deliverer by one mail to everybody whom a message concerns."""

    def __init__(self, spec: EmailSpec, password: str | None, trust: ssl.SSLContext) -> None:
        """`trust`: whose certificates are believed."""
        self.name, self.tenant = spec.name, spec.tenant
        self.give_up_s = spec.give_up_s
        self.limit_s = float(spec.timeout_s) + _GRACE_S
        self._spec = spec
        self._password = password
        self._trust = trust

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port."""
        people = self._recipients(message)
        if not people:
            raise DeliveryError(
                f"No address is known for the role {' or '.join(message.roles)}: "
                "neither `to` nor `by_role` has one.",
                op=_OP,
                final=True,
            )
        session = _Session(self._spec, self._password, self._trust)
        sending = asyncio.ensure_future(
            asyncio.to_thread(session.send, mail_of(message, self._spec.sender, people), people)
        )
        try:
            await asyncio.wait([sending], timeout=float(self._spec.timeout_s))
        finally:
            while not sending.done():
                session.break_off()
                await asyncio.wait([sending], timeout=_LOOK_S)
            sending.exception()  # looked at, also where nobody waits for it any more
        return _note(sending, len(people), session.broken)

    def _recipients(self, message: ApprovalMessage) -> list[str]:
        by_role = (one for role in message.roles for one in self._spec.by_role.get(role, []))
        return list(dict.fromkeys([*self._spec.to, *by_role]))


def mail_of(message: ApprovalMessage, sender: str, people: list[str]) -> EmailMessage:
    """The mail. Its texts are safe already, and the library refuses line breaks in headers."""
    domain = sender.rpartition("@")[2]
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = f"[checkrein] {message.title}"
    mail["From"] = sender
    mail["To"] = ", ".join(people)
    mail["Date"] = format_datetime(message.at)
    mail["Message-ID"] = f"<{message.key}@{domain}>"
    # All mails about one request belong together in a reader's list.
    mail["References"] = f"<{message.approval_id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Checkrein-Key"] = message.key
    preview = str(message.request.get("preview", ""))
    shown = f"\n\nPreview:\n\n{preview}\n" if message.how_to_answer and preview else "\n"
    mail.set_content(message.text + shown, cte="quoted-printable")
    return mail


class _Session:
    """One conversation with a mail server, in a thread.

    Attributes:
        broken: whether it was broken off.
    """

    def __init__(self, spec: EmailSpec, password: str | None, trust: ssl.SSLContext) -> None:
        self._spec = spec
        self._password = password
        self._trust = trust
        self._server: smtplib.SMTP | None = None
        self.broken = False

    def send(self, mail: EmailMessage, people: list[str]) -> dict[str, tuple[int, bytes]]:
        """Send, and return whom the server did not take it for."""
        spec = self._spec
        server = self._server = self._unconnected()
        try:
            code, text = server.connect(spec.host, spec.port)
            if code != _READY:
                raise smtplib.SMTPConnectError(code, text)
            if spec.security == "starttls":
                server.starttls(context=self._trust)
            if spec.username is not None and self._password is not None:
                server.login(spec.username, self._password)
            return server.send_message(mail, from_addr=spec.sender, to_addrs=people)
        finally:
            with contextlib.suppress(smtplib.SMTPException, OSError):
                server.close()

    def _unconnected(self) -> smtplib.SMTP:
        # Made first and connected later, so that it can be broken off while it connects.
        limit = float(self._spec.timeout_s)
        if self._spec.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                timeout=limit, local_hostname="localhost", context=self._trust
            )
        else:
            server = smtplib.SMTP(timeout=limit, local_hostname="localhost")
        # The name that certificates are checked against; only its constructor sets it otherwise.
        vars(server)["_host"] = self._spec.host
        return server

    def break_off(self) -> None:
        """End the conversation from outside of its thread."""
        self.broken = True
        used = None if self._server is None else self._server.sock
        if used is not None:
            with contextlib.suppress(OSError):
                # The plain socket's own, since an encrypted one would forget its encryption first.
                socket.socket.shutdown(used, socket.SHUT_RDWR)


def _note(sending: "asyncio.Future[dict[str, tuple[int, bytes]]]", asked: int, broken: bool) -> str:
    """What came of it: a note for the record, or an error."""
    try:
        refused = sending.result()
    except (smtplib.SMTPException, OSError, ValueError) as error:
        if broken:
            raise DeliveryError("The mail server took too long.", op=_OP) from error
        raise _told(error, asked) from error
    later = sum(code < _PERMANENT for code, _ in refused.values())
    if later:
        raise DeliveryError(f"The mail server takes it for {later} recipients later only.", op=_OP)
    return f"not for {len(refused)} of {asked} recipients" if refused else ""


def _told(error: Exception, asked: int) -> DeliveryError:
    """The error in our words. Never in the server's, which may quote what was sent."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = sorted({code for code, _ in error.recipients.values()})
        return DeliveryError(
            f"The mail server takes it for none of {asked} recipients "
            f"({', '.join(map(str, codes))}).",
            op=_OP,
            final=all(code >= _PERMANENT for code in codes),
        )
    if isinstance(error, smtplib.SMTPResponseException):
        return DeliveryError(f"The mail server answered {error.smtp_code}.", op=_OP)
    return DeliveryError(f"The mail server could not be used ({type(error).__name__}).", op=_OP)
