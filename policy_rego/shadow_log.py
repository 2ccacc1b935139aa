"""A candidate bundle beside the live policy of an attempt, its differing answers in a file."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from checkrein.errors import CheckreinError
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.shadow import Differing, ShadowPolicy
from checkrein.ports.policy import Policy

NAME = "shadow.jsonl"
"""The file in Checkrein's home: one JSON object a line."""

_SHOWN = {"decision", "reason_code", "reasons", "constraints", "policy_version"}


class ShadowLog:
    """Appends a line for each differing answer, and for a candidate that cannot be used."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAME

    def differing(self, found: Differing) -> None:
        """Called with each answer that differs; one short write, so that nobody waits for it."""
        self._line(
            {
                "action_id": found.action_id,
                "phase": found.phase,
                "capability": found.capability,
                "input_ref": found.input_ref,
                "live": found.live.model_dump(mode="json", include=_SHOWN),
                "candidate": found.candidate.model_dump(mode="json", include=_SHOWN),
            }
        )

    def unusable(self, folder: str, error: CheckreinError) -> None:
        """Called where the candidate could not be loaded: the live policy goes on alone."""
        self._line({"candidate": folder, "code": error.code, "problem": str(error)})

    def _line(self, said: dict[str, object]) -> None:
        data = (json.dumps(said, ensure_ascii=False, sort_keys=True) + "\n").encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)


@asynccontextmanager
async def shadowed(live: Policy, folder: str | None, home: Path) -> AsyncGenerator[Policy]:
    """The live policy, with the candidate of a folder beside it; without one, the live one alone.

    A candidate that cannot be used changes nothing: that is written down, and the live one decides.
    """
    if folder is None:
        yield live
        return
    log = ShadowLog(home)
    try:
        bundle = await asyncio.to_thread(load_bundle, Path(folder))
        candidate = await EmbeddedPolicy.load(bundle)
    except CheckreinError as error:
        log.unusable(folder, error)
        yield live
        return
    policy = ShadowPolicy(live, candidate, log.differing)
    try:
        yield policy
    finally:
        await policy.settled()
        await candidate.close()
