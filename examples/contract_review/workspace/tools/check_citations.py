"""Every clause that a finding cites exists, and every quotation stands in it word for word."""

import json
import re
import sys
from pathlib import Path


def main() -> int:
    """Compare findings.json with contract.txt; says what does not fit."""
    clauses = dict(re.findall(r"^(\d+\.\d+) (.+)$", Path("contract.txt").read_text(), re.MULTILINE))
    wrong = []
    for finding in json.loads(Path("findings.json").read_text())["findings"]:
        clause, quote = finding["clause"], finding["quote"]
        if clause not in clauses:
            wrong.append(f"there is no clause {clause}")
        elif quote not in clauses[clause]:
            wrong.append(f"clause {clause} does not say {quote!r}")
    print("\n".join(wrong) or "every citation stands in the contract")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
