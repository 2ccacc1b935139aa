"""Write docs/policy-rules.md: the rules that ship with Checkrein, from their METADATA and tests.

python scripts/policy_rules_doc.py           # write it
python scripts/policy_rules_doc.py --check   # exit code 1 unless it is up to date
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from checkrein.policy_rego import library
from checkrein.policy_rego.rule_docs import documented

FILE = Path(__file__).resolve().parent.parent / "docs" / "policy-rules.md"

HEAD = """\
# Rules that ship with Checkrein

Made from the rules themselves by `python scripts/policy_rules_doc.py`; edit the rules, not this
page. The shipped bundle holds {shipped}.
The others are a library: copy what you need into a bundle of your own, with its tests and its data,
and set the data.

Deny beats ask, ask beats allow, and where no rule allows or asks the answer is DENY. So a rule that
only denies can be added anywhere. A rule that asks makes an action possible, for a person who says
yes: keep `capabilities` in every bundle, whose list says what may happen at all. The roles of
several asks must have one in common, or nobody could approve and the answer is DENY.

Each rule judges by what the harness derived, never by what a text says. What is missing or of an
odd kind counts as the worse case.
"""


async def page() -> str:
    """The whole page: the packages of rules by name, then the data that come with them."""
    every = await asyncio.to_thread(library.rules)
    with tempfile.TemporaryDirectory() as folder:
        await library.add_to(Path(folder), [rule.name for rule in every])
        body = await documented(Path(folder))
    parts = [HEAD.format(shipped=_shipped(every)), body[body.index("\n## ") + 1 :], "## Data\n"]
    for rule in every:
        for path, text in rule.files.items():
            if path.endswith("data.json"):
                parts.append(f"`{path}`, for {rule.title}:\n\n```json\n{text}```\n")
    return "\n".join(parts)


def _shipped(every: list[library.LibraryRule]) -> str:
    folder = FILE.parent.parent / "policy_rego" / "bundle" / library.RULES
    names = [f"`{rule.name}`" for rule in every if (folder / f"{rule.name}.rego").is_file()]
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = bool(parser.parse_args().check)
    text = asyncio.run(page())
    if not check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE.name} is not what the rules say; run python scripts/policy_rules_doc.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
