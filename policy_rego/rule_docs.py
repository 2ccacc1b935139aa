"""The rules of a bundle as a page of Markdown, made from their METADATA and tests."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from checkrein.errors import InputError
from checkrein.policy_rego import metadata
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.bundle_tests import TEST_PREFIX
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.lint import parsed
from checkrein.policy_rego.lint_rules import RULES, SETS
from checkrein.policy_rego.syntax import Module, Rule

_ANSWERS = {"allow": "allows", "ask": "asks a person", "deny": "denies", "limit": "limits"}
_HEAD = """\
# Rules of this bundle

Made from the rules' own metadata by `checkrein policy docs`; edit the rules, not this page.
Deny beats ask, ask beats allow, and where no rule allows the answer is DENY.
"""


async def documented(folder: Path) -> str:
    """The page for a bundle folder. The folder's name and version are left out of it.

    Raises:
        InputError: the folder cannot be used, or a file has an error of syntax.
        EnvironmentFault: the engine cannot be used.
    """
    bundle = await asyncio.to_thread(load_bundle, folder)
    engine = await EngineProcess.start()
    try:
        findings, modules = await parsed({**bundle.modules, **bundle.tests}, engine)
    finally:
        engine.kill()
        await engine.close()
    if findings:
        raise InputError(
            f"The page cannot be made: {findings[0]}",
            op="policy.docs",
            code="policy_invalid",
            context={"path": str(folder)},
        )
    rules = [m for m in modules if m.package[:2] == RULES and not m.is_test]
    tests = [m for m in modules if m.is_test]
    parts = [_HEAD, *(part for module in rules for part in _of_module(module, tests))]
    return "\n".join(parts)


def _of_module(module: Module, tests: Sequence[Module]) -> Iterator[str]:
    package = metadata.of_package(module)
    dotted = ".".join(module.package)
    yield f"## {package.title or dotted}\n"
    yield f"Package `{dotted}`, in `{module.path}`.\n"
    if package.description:
        yield f"{package.description}\n"
    for title, places in _grouped(module).items():
        rule = places[0]
        note = metadata.of_rule(module, rule)
        code = note.reason_code or metadata.literal_code(rule)
        yield f"### {title}\n"
        told = f", reason code `{code}`" if code else ""
        lines = ", ".join(f"`{module.path}:{_line(one)}`" for one in places)
        yield f"{_ANSWERS[rule.name].capitalize()}{told}. {lines}\n"
        if note.description:
            yield f"{note.description}\n"
    named = [*_tests_of(module, tests)]
    if named:
        yield "Tests:\n"
        yield "\n".join(f"- `{name}` (`{place}`)" for name, place in named) + "\n"
    else:
        yield "Tests: none.\n"


def _grouped(module: Module) -> dict[str, list[Rule]]:
    """The rules of the sets by title; one without metadata joins those with its reason code."""
    titles: dict[str, str] = {}
    found: dict[str, list[Rule]] = {}
    for rule in module.rules:
        if rule.kind != "Set" or rule.name not in SETS:
            continue
        key = f"{rule.name} {metadata.literal_code(rule) or _line(rule)}"
        title = metadata.of_rule(module, rule).title or titles.get(key, "") or key
        titles.setdefault(key, title)
        found.setdefault(title, []).append(rule)
    return found


def _tests_of(module: Module, tests: Sequence[Module]) -> Iterator[tuple[str, str]]:
    """Name and place of each test in the package that is named after the module's."""
    package = (*module.package[:-1], f"{module.package[-1]}_test")
    seen: set[str] = set()
    for test in tests:
        for rule in test.rules if test.package == package else ():
            if rule.name.startswith(TEST_PREFIX) and rule.name not in seen:
                seen.add(rule.name)
                yield rule.name, f"{test.path}:{_line(rule)}"


def _line(rule: Rule) -> int:
    return int(rule.span["line"])
