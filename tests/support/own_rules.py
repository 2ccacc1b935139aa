"""A bundle of one rule with one test of it, as tests write and change it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from checkrein.policy_rego.bundle_files import load_bundle

RULE = 'package checkrein.rules.mine\n\nallow contains {{"reason_code": "{}"}} if input.tenant\n'
TEST = (
    "package checkrein.rules.mine_test\n\nimport data.checkrein.rules.mine\n\n"
    'test_allow if mine.allow == {{{{"reason_code": "{}"}}}} with input.tenant as "a"\n'
)


def written(folder: Path, code: str, tested: str | None = None, text: str | None = None) -> str:
    """Let the rule give a code, and the test expect one, by default the same.

    Returns the bundle's version. `text`: the rule's file, in place of that.
    """
    folder.mkdir(exist_ok=True)
    (folder / "mine.rego").write_text(text or RULE.format(code))
    (folder / "mine_test.rego").write_text(TEST.format(tested or code))
    return load_bundle(folder).version


def _cut_off(folder: Path) -> None:
    written(folder, "second", text=RULE.format("second") + "deny contains {")


def _with_a_failing_test(folder: Path) -> None:
    written(folder, "second", tested="other")


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "syntax": (_cut_off, "mine.rego:4"),
    "own tests": (_with_a_failing_test, "test_allow"),
    "gone": (shutil.rmtree, "does not exist"),
}
"""Ways to break such a folder, each with a part of what is then said of it."""
