"""All ports of one attempt, chosen by the composition and handed to the graph's nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkrein.contracts.environment import ChosenEnvironment
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
    """What the nodes of one attempt may reach.

    Attributes:
        capabilities: by name.
        environment: where its commands run; None where it can run none.
        fallback: decides in the model's place once that has gone in circles.
        reviewer: looks at a run that goes in circles; it is given no tools.
    """

    policy: Policy
    model: Model
    capabilities: Mapping[str, Capability]
    verifiers: Sequence[Verifier]
    artifacts: ArtifactStore
    clock: Clock
    failpoints: Failpoints
    workspace: Workspace
    secrets: SecretBroker
    environment: ChosenEnvironment | None = None
    fallback: Model | None = None
    reviewer: Model | None = None
