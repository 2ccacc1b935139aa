"""Who may know a vendor's names, and that nothing heavy is loaded before it is needed."""

import subprocess
import sys

import pytest
from project_files import ROOT, imports, parse, shipped_python

# The composition takes a LangChain model that the caller brings; it reads nothing of it.
# A middleware of LangChain's agents is made of LangChain's words; guests.py translates them.
MAY_KNOW = (
    "adapters/",
    "core/attempt_ports.py",
    "core/guests.py",
    "core/harness.py",
    "core/middleware.py",
    "core/testing/",
    "evals/",
)
VENDORS = (
    "langchain.",
    "langchain_core.language_models.",
    "langchain_core.messages.",
    "langchain_core.tools.",
    "langchain_openai.",
    "langchain_anthropic.",
    "openai.",
    "anthropic.",
    "google.",
)
HEAVY = ("langchain", "langchain_core", "langgraph")


@pytest.mark.shows(45)
def test_vendors_names_appear_only_among_the_adapters() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in shipped_python()
        if not path.relative_to(ROOT).as_posix().startswith(MAY_KNOW)
        for line, name in imports(parse(path))
        if f"{name}.".startswith(VENDORS)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "module",
    [
        "checkrein.adapters.function_capability",
        "checkrein.adapters.task_file",
        "checkrein.nodes.proposals",
    ],
)
def test_no_model_framework_is_loaded_before_it_is_needed(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert result.stdout.strip() == ""
