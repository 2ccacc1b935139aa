"""The capabilities on files: the policy judges, and the guard refuses whatever it said."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.adapters.workspace_swap import ABSENT
from checkrein.adapters.workspace_writes import MAX_CONTENT
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import digest
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Capability, Permit, Prepared

NAMES = ["workspace.apply_patch", "workspace.list", "workspace.read", "workspace.write_file"]
RUN = "workspace.run_command"
PATCH = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-note\n+noted\n"


@pytest.fixture
def capabilities(workspace: FolderWorkspace) -> dict[str, Capability]:
    return {capability.spec.name: capability for capability in workspace_capabilities(workspace)}


@pytest.fixture
def reader(capabilities: dict[str, Capability]) -> Capability:
    return capabilities["workspace.read"]


@pytest.fixture
def lister(capabilities: dict[str, Capability]) -> Capability:
    return capabilities["workspace.list"]


@pytest.fixture
def writer(capabilities: dict[str, Capability]) -> Capability:
    return capabilities["workspace.write_file"]


@pytest.fixture
def patcher(capabilities: dict[str, Capability]) -> Capability:
    return capabilities["workspace.apply_patch"]


async def owner() -> bool:
    return True


async def send(
    capability: Capability, prepared: Prepared, constraints: dict[str, Any] | None = None
) -> Outcome:
    permit = Permit(
        effect_id="eff_1", key="k", operation_hash="h", fence=1, constraints=constraints or {}
    )
    return await capability.send(prepared, permit, owner)


def effect_of(prepared: Prepared) -> Effect:
    return Effect(
        effect_id="eff_1",
        tenant="t",
        resource=prepared.resource,
        key="k",
        operation_hash="h",
        action_id="act_1",
        status=EffectStatus.EXECUTING,
        from_version=prepared.from_version,
        to_version=prepared.to_version,
    )


def test_declared_contracts(capabilities: dict[str, Capability]) -> None:
    """Protects policies and the ledger, which go by what is declared here."""
    assert sorted(capabilities) == sorted([*NAMES, RUN])
    for name in NAMES:
        capability = capabilities[name]
        spec = capability.spec
        schema = spec.parameters
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for field in schema["properties"].values():
            assert "maxLength" in field or "maximum" in field
        assert spec.enforces == {"max_bytes", "path_roots"}
        assert (spec.trust, spec.lookup) == (Trust.WORKSPACE, Lookup.AUTHORITATIVE)
        if name in ("workspace.read", "workspace.list"):
            assert (spec.side_effect, spec.guarantee) == (SideEffect.READ, Guarantee.NONE)
        else:
            assert spec.side_effect is SideEffect.REVERSIBLE
            assert spec.guarantee is Guarantee.COMPARE_AND_SET
        assert capability.idempotency_key("act_1", {}) == "act_1"


def test_five_megabytes_do_not_fit_the_schema(writer: Capability) -> None:
    """Protects the store: such a call becomes an observation before anything reads it."""
    jsonschema.validate({"path": "a", "content": "x" * MAX_CONTENT}, writer.spec.parameters)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"path": "a", "content": "x" * 5_000_000}, writer.spec.parameters)


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "out/secret.txt", "file_out", "..%2fsecret.txt", "a\0"]
)
@pytest.mark.shows(247)
async def test_outside_is_described_and_never_touched(
    path: str, capabilities: dict[str, Capability], source: Path, tmp_path: Path
) -> None:
    """Protects what lies outside when a policy allows everything: the guard is a second layer."""
    (source / "out").symlink_to(tmp_path)
    (source / "file_out").symlink_to(tmp_path / "secret.txt")
    for name, extra in (
        ("workspace.read", {}),
        ("workspace.list", {}),
        ("workspace.write_file", {"content": "x"}),
        ("workspace.apply_patch", {"patch": PATCH}),
    ):
        capability, args = capabilities[name], {"path": path, **extra}
        described = await capability.describe(args)
        (fact,) = described.facts.paths
        assert (fact.inside, fact.exists, fact.param) == (False, False, "path")
        assert described.resource.startswith("file:")
        assert described.resource_version == ABSENT
        with pytest.raises(CapabilityError) as caught:
            if capability.spec.side_effect is SideEffect.READ:
                await capability.read(args, {})
            else:
                await capability.prepare(args)
        assert caught.value.code in ("path_outside_workspace", "invalid_path")
        assert caught.value.advice
    forged = Prepared(
        resource=f"file:{path}", from_version=ABSENT, to_version=digest(b"x"), preview="", plan=b"x"
    )
    with pytest.raises(CapabilityError):
        await send(capabilities["workspace.write_file"], forged)
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"


async def test_descriptions(reader: Capability, patcher: Capability, lister: Capability) -> None:
    """Protects decisions: object, version and size come from the harness."""
    described = await reader.describe({"path": "./src//app.py"})
    assert described.resource == "file:src/app.py"
    assert described.resource_version == digest(b"one\ntwo\nthree\n")
    assert described.facts.paths[0].segments == ["src", "app.py"]
    assert (await reader.describe({"path": "gone"})).resource_version == ABSENT
    assert (await reader.describe({"path": "src"})).resource_version == "unusable:not_a_file"
    sized = await patcher.describe({"path": "notes.txt", "patch": "é"})
    assert sized.facts.bytes == 2
    root = await lister.describe({})
    assert (root.resource, root.facts.paths[0].segments) == ("file:.", [])
    assert await lister.version("file:.") == root.resource_version
    assert (await lister.describe({"path": "gone"})).resource_version == ABSENT


async def test_a_write_is_prepared_shown_and_sent(writer: Capability, source: Path) -> None:
    """Protects approvers: what they are shown is what is written, and nothing before they said."""
    prepared = await writer.prepare({"path": "src/new.py", "content": "a\nb"})
    assert prepared.resource == "file:src/new.py"
    assert (prepared.from_version, prepared.to_version) == (ABSENT, digest(b"a\nb"))
    assert prepared.preview == (
        "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert not (source / "src" / "new.py").exists()
    assert await writer.lookup(effect_of(prepared)) is None
    outcome = await send(writer, prepared)
    assert (outcome.status, outcome.version) == (EffectStatus.COMMITTED, prepared.to_version)
    assert (source / "src" / "new.py").read_bytes() == b"a\nb"
    assert await writer.version("file:src/new.py") == prepared.to_version
    again = await writer.prepare({"path": "src/new.py", "content": "a\nb"})
    assert again.no_change


async def test_the_target_answers_whether_an_effect_happened(
    patcher: Capability, source: Path
) -> None:
    """Protects recovery: only the to-version proves it, and absence of proof is none."""
    prepared = await patcher.prepare({"path": "notes.txt", "patch": PATCH})
    assert "-note\n+noted\n" in prepared.preview
    effect = effect_of(prepared)
    assert await patcher.lookup(effect) is None
    await send(patcher, prepared)
    found = await patcher.lookup(effect)
    assert found is not None
    assert (found.status, found.version) == (EffectStatus.COMMITTED, digest(b"noted\n"))
    (source / "notes.txt").write_bytes(b"edited by hand\n")
    assert await patcher.lookup(effect) is None


async def test_a_plan_that_was_changed_is_not_sent(writer: Capability, source: Path) -> None:
    """Protects approvals: bytes other than the prepared ones are refused."""
    prepared = await writer.prepare({"path": "notes.txt", "content": "good"})
    forged = prepared.model_copy(update={"plan": b"evil"})
    with pytest.raises(CapabilityError, match="not what was prepared"):
        await send(writer, forged)
    assert (source / "notes.txt").read_bytes() == b"note\n"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"path_roots": ["src"]}, "constraint_violated"),
        ({"path_roots": ["note"]}, "constraint_violated"),
        ({"max_bytes": 3}, "constraint_violated"),
        ({"max_rows": 1}, "constraint_unavailable"),
        ({"path_roots": ["src", "."], "max_bytes": 5}, None),
        ({"path_roots": ["notes.txt"]}, None),
    ],
)
async def test_limits_of_the_policy_are_held(
    limits: dict[str, Any], code: str | None, reader: Capability, writer: Capability, source: Path
) -> None:
    """Protects constrained allows: a limit is kept by the executor, or the call is refused."""
    prepared = await writer.prepare({"path": "notes.txt", "content": "other"})
    if code is None:
        await reader.read({"path": "notes.txt"}, limits)
        assert (await send(writer, prepared, limits)).status is EffectStatus.COMMITTED
        return
    with pytest.raises(CapabilityError) as on_read:
        await reader.read({"path": "notes.txt"}, limits)
    with pytest.raises(CapabilityError) as on_send:
        await send(writer, prepared, limits)
    assert on_read.value.code == on_send.value.code == code
    assert not on_send.value.effect_possible
    assert (source / "notes.txt").read_bytes() == b"note\n"


async def test_verbs_that_a_capability_lacks_are_refused(
    reader: Capability, writer: Capability
) -> None:
    """Protects the one door: a READ cannot be sent, a write cannot be read."""
    with pytest.raises(CapabilityError, match=r"workspace\.read does not prepare"):
        await reader.prepare({"path": "notes.txt"})
    with pytest.raises(CapabilityError, match=r"workspace\.write_file does not read"):
        await writer.read({"path": "notes.txt"}, {})


async def test_replacing_a_binary_file_says_so(writer: Capability, source: Path) -> None:
    """Protects approvers from a diff of bytes."""
    (source / "notes.txt").write_bytes(b"\0\1")
    prepared = await writer.prepare({"path": "notes.txt", "content": "text\n"})
    assert "2 bytes that are no text are replaced" in prepared.preview
