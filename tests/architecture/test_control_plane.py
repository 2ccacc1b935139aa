"""Nothing that decides, records or verifies may ask a model.

import-linter keeps our own modules apart; a part of an outside package it cannot name, so that
the models of langchain_core are looked for here.
"""

import pytest
from project_files import ROOT, imports, parse, shipped_python

CONTROL_PLANE = (
    "core/contracts/",
    "core/ports/",
    "checkpointer/",
    "policy_rego/",
    "nodes/policy.py",
    "nodes/approval.py",
    "nodes/commit_effect.py",
    "nodes/completion_gate.py",
    "adapters/command_verifier.py",
)
MODELS = (
    "langchain.",
    "langchain_core.language_models",
    "checkrein.adapters.chat_model",
    "checkrein.testing.scripted_model",
)


@pytest.mark.parametrize("place", CONTROL_PLANE)
def test_control_plane_imports_no_model(place: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in shipped_python()
        if path.relative_to(ROOT).as_posix().startswith(place)
        for line, name in imports(parse(path))
        if f"{name}.".startswith(MODELS)
    ]
    assert wrong == []
