"""Checkrein: a governed harness for agents that change real things.

The public names are loaded when they are first used, so that `import checkrein` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from checkrein.version import VERSION

if TYPE_CHECKING:
    from checkrein.adapters.function_capability import capability
    from checkrein.adapters.governed_tool import govern
    from checkrein.contracts.approval import ApprovalRequest
    from checkrein.contracts.attempt import AttemptStatus
    from checkrein.contracts.task import TaskContract
    from checkrein.errors import CheckreinError
    from checkrein.graph.report import Report
    from checkrein.harness import Harness


__version__ = VERSION

_PUBLIC = {
    "ApprovalRequest": "checkrein.contracts.approval",
    "AttemptStatus": "checkrein.contracts.attempt",
    "CheckreinError": "checkrein.errors",
    "Harness": "checkrein.harness",
    "Report": "checkrein.graph.report",
    "TaskContract": "checkrein.contracts.task",
    "capability": "checkrein.adapters.function_capability",
    "govern": "checkrein.adapters.governed_tool",
}

__all__ = [
    "ApprovalRequest",
    "AttemptStatus",
    "CheckreinError",
    "Harness",
    "Report",
    "TaskContract",
    "__version__",
    "capability",
    "govern",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
