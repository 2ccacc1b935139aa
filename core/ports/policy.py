"""The policy engine."""

from collections.abc import Sequence
from typing import Protocol

from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.contracts.event import PolicyRefused, PolicyReloaded

PolicyNews = PolicyReloaded | PolicyRefused
"""What became of a change of the rules, as it is recorded."""


class Policy(Protocol):
    """The rules that decide; of an engine that follows a folder or a server, those of now."""

    @property
    def version(self) -> str:
        """Content hash of the modules and data of the bundle that decides, tests left out."""
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

    def news(self) -> Sequence[PolicyNews]:
        """What became of changes of the rules up to the last decision, that one included.

        Oldest first; nothing where rules do not change under way. The same again until `heard`, so
        that a record that fails loses nothing.
        """
        ...

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """Forget what `news` returned: it is on record."""
        ...

    async def close(self) -> None:
        """Stop the engine; may be called twice."""
        ...
