"""Opening an OPA server: which one is used, how it is reached, and what is refused at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from misbehaving_opa import REVISION, MisbehavingOpa, body, http, provenance, says

from checkrein.contracts.decision import DecisionInput, Reserved, Verdict
from checkrein.errors import EnvironmentFault, InputError
from checkrein.evals.both_engines import OpaPolicy, export_bundle, load_bundle
from checkrein.evals.opa_server import OpaServer

BUNDLES = Path(__file__).parents[1] / "policy" / "bundles"
Make = Callable[..., DecisionInput]
ServerFor = Callable[..., OpaServer]
OpenOpa = Callable[..., Awaitable[OpaPolicy]]


async def ran(*line: str | Path, cwd: Path) -> None:
    """Run a program that must work."""
    process = await asyncio.create_subprocess_exec(
        *line, cwd=cwd, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


async def test_a_built_bundle_is_known_by_its_revision(
    binary: Path, server_for: ServerFor, open_opa: OpenOpa, document: Make, tmp_path: Path
) -> None:
    """As in production: exported, built by `opa build`, and served under its content hash."""
    bundle = load_bundle(BUNDLES / "allow_all")
    export_bundle(bundle, tmp_path / "b")
    archive = tmp_path / "bundle.tar.gz"
    await ran(binary, "build", "--bundle", "b", "--output", archive, cwd=tmp_path)
    server = server_for(bundle, "other")
    server.serve(archive)
    policy = await open_opa(server.url, revisions={bundle.version})
    decision = await policy.decide(document())
    assert (decision.decision, decision.policy_version) == (Verdict.ALLOW, bundle.version)
    assert decision.engine.startswith("opa 1.")


@pytest.mark.parametrize("version", ["1.21.2", "1.21.3-rc1", "0.70.0", "1.9.99"])
async def test_an_older_server_is_refused(
    fake: MisbehavingOpa, open_opa: OpenOpa, version: str
) -> None:
    """A bundle's signature could be got around before 1.21.3."""
    fake.behave = says(http(body(provenance=provenance(version=version))))
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(fake.url)
    assert error.value.code == "opa_too_old"
    assert version in str(error.value) and "1.21.3" in str(error.value)


@pytest.mark.parametrize("version", ["1.21.3", "1.22.0-rc1", "2.0.0"])
async def test_a_newer_server_is_used(
    fake: MisbehavingOpa, open_opa: OpenOpa, version: str
) -> None:
    """The bound is a bound and no list."""
    fake.behave = says(http(body(provenance=provenance(version=version))))
    assert (await open_opa(fake.url)).version == REVISION


async def test_a_server_that_is_not_there_is_said_at_the_opening(open_opa: OpenOpa) -> None:
    """A wrong address is found before a run starts."""
    with pytest.raises(EnvironmentFault) as error:
        await open_opa("http://127.0.0.1:9")
    assert error.value.code == Reserved.POLICY_UNAVAILABLE


async def test_another_revision_is_refused_at_the_opening(
    fake: MisbehavingOpa, open_opa: OpenOpa
) -> None:
    """Who names the revisions wants no other bundle, from the first decision on."""
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(fake.url, revisions={"sha256:wanted"})
    assert error.value.code == Reserved.POLICY_REVISION_MISMATCH
    assert "sha256:wanted" in str(error.value)


async def test_a_bundle_whose_answers_are_malformed_is_refused_at_the_opening(
    fake: MisbehavingOpa, open_opa: OpenOpa
) -> None:
    """Else every action would be denied, one by one, before anybody looks."""
    fake.behave = says(http(body(result={"allow": True})))
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(fake.url)
    assert error.value.code == Reserved.POLICY_OUTPUT_INVALID


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8181",
        "ftp://127.0.0.1",
        "http://",
        "http://eve:s3cret@127.0.0.1",
        "http://127.0.0.1/v1/data",
        "http://127.0.0.1/?s3cret",
        "http://127.0.0.1:99999",
        "unix:opa.sock",
        "",
    ],
)
async def test_an_address_that_says_more_or_less_is_refused(open_opa: OpenOpa, url: str) -> None:
    """What cannot be meant is not guessed at, and what may be a password is not repeated."""
    with pytest.raises(InputError) as error:
        await open_opa(url)
    assert error.value.code == "opa_address"
    assert "s3cret" not in str(error.value)


async def test_a_token_does_not_travel_in_clear(open_opa: OpenOpa) -> None:
    """Over a network a token is sent by TLS or not at all; and only what a header can hold."""
    for url, token in (("http://opa.example", "t0ken"), ("http://127.0.0.1", "t0k\nen")):
        with pytest.raises(InputError) as error:
            await open_opa(url, token=token)
        assert error.value.code == "opa_token"
        assert "t0k" not in str(error.value)


AUTHZ = """package system.authz

default allow := false

allow if input.identity == "right-token"

allow if input.path == ["health"]
"""


async def test_a_real_server_that_wants_a_token(
    server_for: ServerFor, open_opa: OpenOpa, document: Make, tmp_path: Path
) -> None:
    """The right token decides; a wrong one and none are refused, and not repeated.

    Who may ask is said by a bundle of its own, whose revision is accepted or not like the other.
    """
    bundle = load_bundle(BUNDLES / "allow_all")
    who = replace(bundle, modules={"who.rego": AUTHZ})
    export_bundle(bundle, tmp_path / "rules", roots=["checkrein"])
    export_bundle(who, tmp_path / "who", revision="who-1", roots=["system"])
    more = (str(tmp_path / "who"), "--authentication=token", "--authorization=basic")
    server = server_for(bundle)
    server.serve(tmp_path / "rules", more)
    for revisions in (set[str](), {bundle.version, "who-1"}):
        policy = await open_opa(server.url, token="right-token", revisions=revisions)
        decision = await policy.decide(document())
        assert (decision.decision, decision.policy_version) == (Verdict.ALLOW, bundle.version)
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(server.url, token="right-token", revisions={bundle.version})
    assert error.value.code == Reserved.POLICY_REVISION_MISMATCH
    assert "who-1" in str(error.value)
    for token in ("wrong-token", None):
        with pytest.raises(EnvironmentFault) as error:
            await open_opa(server.url, token=token)
        assert error.value.code == Reserved.POLICY_UNAVAILABLE
        assert "401" in str(error.value) and "wrong-token" not in str(error.value)


async def test_tls_with_an_authority_of_ones_own(
    server_for: ServerFor, open_opa: OpenOpa, document: Make, tmp_path: Path
) -> None:
    """The named authority is trusted, others are not, and a file without one is refused."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    await ran(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "2", "-subj", "/CN=opa", "-addext", "subjectAltName=IP:127.0.0.1"),
        *("-keyout", key, "-out", certificate),
        cwd=tmp_path,
    )
    server = server_for(load_bundle(BUNDLES / "allow_all"))
    url = server.secure(key, certificate)
    policy = await open_opa(url, ca=str(certificate), token="t0ken")
    assert (await policy.decide(document())).decision is Verdict.ALLOW
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(url)
    assert "certificate" in str(error.value)
    with pytest.raises(InputError) as refused:
        await open_opa(url, ca=str(key))
    assert refused.value.code == "opa_ca"


async def test_a_unix_socket(
    server_for: ServerFor, open_opa: OpenOpa, document: Make, tmp_path: Path
) -> None:
    """A socket in the file system serves as well as a port, a token with it."""
    socket = tmp_path / "opa.sock"
    server_for(load_bundle(BUNDLES / "allow_all"), more=("--addr", f"unix://{socket}"))
    for url in (f"unix:{socket}", f"unix://{socket}"):
        policy = await open_opa(url, token="t0ken")
        assert (await policy.decide(document())).decision is Verdict.ALLOW


def test_an_export_overwrites_nothing(tmp_path: Path) -> None:
    """A mistyped folder costs nobody their files; what is exported is the same bundle again."""
    bundle = load_bundle(BUNDLES / "allow_all")
    export_bundle(bundle, tmp_path / "new" / "b")
    assert load_bundle(tmp_path / "new" / "b").version == bundle.version
    for place in (tmp_path / "new", tmp_path / "new" / "b" / "data.json"):
        with pytest.raises(InputError):
            export_bundle(bundle, place)
