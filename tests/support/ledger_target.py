"""What the owners of a ledger_world act on: a real payment service, or files of a workspace."""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from ledger_owners import Gated, Owner
from open_store import OpenStore
from payloads import effect_id_of

from checkrein.adapters.absent import AbsentModel
from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.payment_target import payments
from checkrein.adapters.secret_folder import FolderSecrets
from checkrein.adapters.system_clock import SystemClock
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.contracts.action import Action, Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import digest_of
from checkrein.ports.bundle import Ports
from checkrein.ports.capability import Capability, RetryPolicy
from checkrein.ports.policy import Policy
from checkrein.testing.conformance.story import action_of
from checkrein.testing.failpoints import NoFailpoints

ATOMIC_KEY, SWAP, ONCE, ONCE_FOUND = "atomic_key", "compare_and_set", "none", "none_with_lookup"
KINDS = (ATOMIC_KEY, SWAP, ONCE, ONCE_FOUND)

_TWICE = RetryPolicy(tries=2, first_s=0)
_PATHS = ("a.txt", "b.txt")


@dataclass(frozen=True)
class Bench:
    """What all worlds of a test share: store, policy, payment service and a folder."""

    store: OpenStore
    policy: Policy
    client: httpx.AsyncClient
    folder: Path


class LedgerTarget:
    """One target of a kind, that counts what really happened."""

    def __init__(self, bench: Bench, kind: str) -> None:
        self.kind = kind
        self._bench = bench
        self._namespace = uuid.uuid4().hex
        self._capability: Capability
        self._stamps: dict[str, tuple[int, int]] = {}
        self._swaps: Counter[str] = Counter()
        self.workspace: FolderWorkspace

    async def open(self) -> None:
        """Make the files, and the capability."""
        folder = self._bench.folder / self._namespace
        (folder / "source").mkdir(parents=True)
        for path in _PATHS:
            (folder / "source" / path).write_text("at first\n")
        name, home = self._namespace, folder / "home"
        ref = await FolderWorkspace.create(folder / "source", "copy", home=home, attempt_id=name)
        self.workspace = FolderWorkspace(ref, home=home, attempt_id=name, lock_wait_s=0.02)
        self._capability = self._opened()
        self._look_at_files([])

    def _opened(self) -> Capability:
        if self.kind == SWAP:
            known = {c.spec.name: c for c in workspace_capabilities(self.workspace)}
            return known["workspace.write_file"]
        keyed = self.kind == ATOMIC_KEY
        return payments(
            str(self._bench.client.base_url).rstrip("/"),
            self._namespace,
            guarantee=Guarantee.ATOMIC_KEY if keyed else Guarantee.NONE,
            verified=False,
            timeout_s=60,
            client=self._bench.client,
        )

    def action(self, attempt_id: str, position: int) -> Action:
        """One act of an attempt; payments are the same act in each attempt."""
        plain = action_of(attempt_id, position=position)
        if self.kind == SWAP:
            args: dict[str, Any] = {"path": _PATHS[position], "content": attempt_id}
            changes: dict[str, Any] = {"resource": f"file:{_PATHS[position]}"}
        else:
            args = {"amount": 5, "currency": "EUR", "to": f"{self._namespace}-{position}"}
            changes = {
                "type": self._capability.spec.type,
                "resource": f"account:{args['to']}",
                "side_effect_class": SideEffect.IRREVERSIBLE,
                "idempotency_key": f"pay-{args['to']}",
            }
        return plain.model_copy(update=changes | {"args": args, "args_hash": digest_of(args)})

    def ports(self, owner: Owner | None, sends: Counter[str]) -> Ports:
        """What an owner reaches; None is one who only asks."""
        terms: dict[str, Any] = {"retry": _TWICE}
        if self.kind == ONCE:
            terms["lookup"] = Lookup.NONE
        key = None if self.kind == SWAP else "to"
        gated = Gated(self._capability, owner, key, sends, **terms)
        return Ports(
            policy=self._bench.policy,
            model=AbsentModel("scripted:none"),
            capabilities={gated.spec.name: gated},
            verifiers=(),
            artifacts=FolderArtifactStore(self._bench.folder),
            clock=SystemClock(),
            failpoints=owner or NoFailpoints(),
            workspace=self.workspace,
            secrets=FolderSecrets(None),
        )

    async def counted(self, actions: Sequence[Action]) -> Counter[str]:
        """How often each effect really happened, by its id."""
        if self.kind == SWAP:
            self._look_at_files(actions)
            return Counter(self._swaps)
        answer = await self._bench.client.get(f"/{self._namespace}/count")
        return Counter(answer.raise_for_status().json()["per_key"])

    def _look_at_files(self, actions: Sequence[Action]) -> None:
        """Each swap is another file; at most one happens between two looks."""
        for path in _PATHS:
            file = Path(self.workspace.ref.root) / path
            found = file.stat()
            stamp = (found.st_ino, found.st_mtime_ns)
            if self._stamps.get(path) != stamp:
                self._stamps[path] = stamp
                made = {"path": path, "content": file.read_text()}
                self._swaps.update(effect_id_of(a) for a in actions if a.args == made)
