"""The policy engine."""

from typing import Protocol

from checkrein.contracts.decision import DecisionInput, PolicyDecision


class Policy(Protocol):
    """One loaded bundle."""

    @property
    def version(self) -> str:
        """Content hash of the bundle's modules and data, tests left out."""
        ...

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Judge one action.

        Never raises for a fault of the policy or its engine: undefined, conflicting, malformed,
        late or crashed is DENY with a reserved reason code. The decision's `input_ref` is the
        digest of the exact bytes that `input_text` returns for the same document.
        """
        ...

    def input_text(self, document: DecisionInput) -> bytes:
        """The exact input as the engine sees it, canonical JSON, at most 8 MiB.

        Raises:
            InputError: the document cannot be written canonically.
        """
        ...

    async def close(self) -> None:
        """Stop the engine; may be called twice."""
        ...
