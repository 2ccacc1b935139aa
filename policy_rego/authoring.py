"""What policy authors run, in one place: check, test, eval, explain, diff, init, docs."""

import asyncio
import re
from pathlib import Path

from checkrein.errors import InputError
from checkrein.policy_rego.bundle_export import export_bundle
from checkrein.policy_rego.bundle_files import Bundle, entrypoint, load_bundle, shipped_bundle
from checkrein.policy_rego.bundle_tests import Coverage, TestReport, TestResult, test, test_bundle
from checkrein.policy_rego.decision_log import entry as log_entry
from checkrein.policy_rego.embedded import DEADLINE_S
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.findings import Finding, caret
from checkrein.policy_rego.input_document import read_input
from checkrein.policy_rego.library import add_to, rules
from checkrein.policy_rego.lint import lint
from checkrein.policy_rego.probing import Condition
from checkrein.policy_rego.replay import KINDS, Change, Recorded, Replay, replayed
from checkrein.policy_rego.rule_docs import documented
from checkrein.policy_rego.soundness import sound_policy
from checkrein.policy_rego.starter import start
from checkrein.policy_rego.why import Explanation, RuleAnswer, explained

__all__ = [
    "Bundle",
    "Change",
    "Condition",
    "Coverage",
    "Explanation",
    "Finding",
    "KINDS",
    "Replay",
    "Recorded",
    "RuleAnswer",
    "TestReport",
    "TestResult",
    "add_to",
    "caret",
    "check",
    "documented",
    "entrypoint",
    "explained",
    "export_bundle",
    "load_bundle",
    "log_entry",
    "published",
    "read_input",
    "replayed",
    "rules",
    "shipped_bundle",
    "start",
    "test",
    "test_bundle",
]

_PLACE = re.compile(r"\(?line (?P<line>[0-9]+),? column (?P<column>[0-9]+)")


async def check(folder: Path, *, deadline_s: float = DEADLINE_S) -> list[Finding]:
    """Check a bundle folder, its tests included; an empty list is a bundle without a flaw.

    What keeps the folder from being read at all is a finding too.

    Raises:
        InputError: policy_missing, there is no such folder or no rule in it.
        EnvironmentFault: the engine cannot be used.
    """
    try:
        bundle = await asyncio.to_thread(load_bundle, folder)
    except InputError as error:
        if error.code != "policy_invalid":
            raise
        return [_unread(folder, error)]
    engine = await EngineProcess.start()
    try:
        return await lint(bundle, engine, deadline_s=deadline_s, tests=True)
    finally:
        engine.kill()
        await engine.close()


async def published(folder: Path, out_folder: Path) -> Bundle:
    """Write out a bundle that may decide, for OPA; nothing is written of any other.

    Raises:
        InputError: it cannot be read, does not compile, its own tests do not all pass, or the
            place is taken.
        EnvironmentFault: the engine cannot be used.
    """
    bundle = await asyncio.to_thread(load_bundle, folder)
    policy = await sound_policy(bundle)
    await policy.close()
    await asyncio.to_thread(export_bundle, bundle, out_folder)
    return bundle


def _unread(folder: Path, error: InputError) -> Finding:
    """The finding for a file that cannot be read, at the place that its message names."""
    message = str(error).removeprefix("Policy bundle: ")
    place = _PLACE.search(message)
    is_data = "data file" in message
    return Finding(
        rule="bundle",
        path=str(error.context.get("path", folder)),
        line=int(place["line"]) if place else 1,
        column=int(place["column"]) if place else 1,
        message=message,
        advice="Mend the file there; JSON wants double quotes and no comma behind the last item."
        if is_data and place and "JSON" in message
        else "",
    )
