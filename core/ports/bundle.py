"""All ports of one attempt, chosen by the composition and handed to the graph's nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.capability import Capability
from checkrein.ports.clock import Clock
from checkrein.ports.failpoints import Failpoints
from checkrein.ports.model import Model
from checkrein.ports.policy import Policy
from checkrein.ports.secrets import SecretBroker
from checkrein.ports.verifier import Verifier
from checkrein.ports.workspace import Workspace


@dataclass(frozen=True)
class Ports:
    """What the nodes of one attempt may reach. `capabilities` is by name."""

    policy: Policy
    model: Model
    capabilities: Mapping[str, Capability]
    verifiers: Sequence[Verifier]
    artifacts: ArtifactStore
    clock: Clock
    failpoints: Failpoints
    workspace: Workspace
    secrets: SecretBroker
