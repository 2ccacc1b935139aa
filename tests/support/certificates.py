"""Certificates of a throw-away authority, for servers of tests that speak TLS."""

import datetime
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "receiver.test"
"""The only name that the server's certificate is good for."""


def made(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """The authority's certificate as a file, and a server's context for NAME."""
    authority = ec.generate_private_key(ec.SECP256R1())
    root = _certificate("authority.test", authority, authority, "authority.test", root=True)
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _certificate(NAME, key, authority, "authority.test", root=False)
    ca, chain = folder / "ca.pem", folder / "server.pem"
    ca.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    chain.write_bytes(secret + leaf.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return ca, context


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: str,
    *,
    root: bool,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    signers = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, root, root, False, False)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=root, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signers), critical=False
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
    )
    return builder.sign(signer, hashes.SHA256())
