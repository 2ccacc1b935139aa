"""Inputs for comparing engines: generated from a seed over the whole schema, edges included."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from checkrein.contracts.action import AddressClass, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import DecisionInput
from checkrein.contracts.task import Risk
from checkrein.evals.parity_permissions import bounded_args, permissions
from checkrein.evals.parity_plausible import plausible

CAPABILITIES = (
    "workspace.read",
    "workspace.list",
    "workspace.write_file",
    "workspace.apply_patch",
    "payments.charge",
    "shell.run",
    "web.fetch",
    "db.rows",
    "",
)
_NAMES = (
    "src", "a.py", "tests", "TESTS", "te\u017fts", "policy", "x.rego", ".git", ".GIT", ".env",
    ".Env.local", "..", "\u2025", "wsx", "", " ", "é", "e\u0301", "\u0130", "\u212a", "a\nb",
    "a%2fb", "\U0001f600", "\u202e", "x" * 300,
)  # fmt: skip
_TEXTS = (
    *_NAMES, "1", "0", "true", "null", "NaN", "\u0661", "1,000", "1e400", "-0", "s3cret", "\\", '"',
    "$", "{}", "/ws/../etc", "https://good.com@evil.com", "\x7f", "\ufeff", "\uffff", "\u2028",
)  # fmt: skip
_NUMBERS = (
    0, 1, -1, 2, 5, 29, 30, 31, 86_400, 2_592_000, 2_592_001, 10_000, 2**31, -(2**31), 2**53 - 1,
    -(2**53) + 1, 0.5, -0.0, 1.0, 1e-7, 1.5, 1e21, 123456.789, 5e-324, 2**53, 2**64, float("nan"),
)  # fmt: skip
_CODES = ("aa", "bb_1", "some_reason", "Not A Code", "policy_timeout", "x" * 64, "x" * 65, "a")
_HOSTS = ("good.com", "evil.com", "10.1.2.3", "127.0.0.1", "::1", "xn--god-jua.com", "localhost")


class Generator:
    """Makes documents; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret

    def documents(self, count: int) -> Iterator[DecisionInput]:
        """So many documents. Some hold what no engine may ever see."""
        for number in range(count):
            yield self.document(number)

    def document(self, number: int) -> DecisionInput:
        """One document: half of them as real ones are, of which rules allow some."""
        if self._chance(0.5):
            made = plausible(self._random, number)
            made["action"]["args"] = self._args()
            made["permissions"] = permissions(self._random, made["action"])
            return DecisionInput.model_validate(made)
        capability = self._one(CAPABILITIES)
        granted = self._random.sample(CAPABILITIES, self._random.randrange(len(CAPABILITIES)))
        reads = capability in {"workspace.read", "workspace.list"}
        action = self._action(capability, reads=reads and self._chance(0.9))
        return DecisionInput.model_validate(
            {
                "phase": self._one(("propose", "dispatch")),
                "tenant": self._one(("local", "other", "é")),
                "task": {
                    "task_id": f"task-{number}",
                    "risk": self._one(tuple(Risk)),
                    "contract_version": "sha256:00",
                    "capabilities": granted if self._chance(0.15) else [*granted, capability],
                    "requested_by": self._one(("ada", "bob", "")),
                    "stage": self._one(("plan", "execute", "release")),
                    "plan_mode": self._chance(0.2),
                    "commit_authority": self._one(("ada", "bob", "", None)),
                },
                "attempt": {
                    "attempt_id": "a",
                    "number": self._random.randrange(1, 4),
                    "turn": self._random.randrange(1, 99),
                    "prior_denials": self._one((0, 1, 3, 100)),
                    "purpose": self._one(("work", "commit")),
                },
                "actor": {
                    "user": self._one(("ada", "bob", "")),
                    "agent": "m",
                    "runtime": "r",
                    "roles": self._list(lambda: self._one(("approver", "banned", "é")), 2),
                },
                "action": action,
                "provenance": {
                    "lowest_trust": self._one(tuple(Trust)),
                    "untrusted": self._chance(0.3),
                    "private": self._chance(0.3),
                },
                "budget": {
                    name: self._one((0, 1, 5, 9, 2**53 - 1))
                    for name in ("steps", "tokens", "tool_calls", "money")
                    if self._chance(0.9)
                },
                "approvals": self._list(self._approval, 1),
                "permissions": permissions(self._random, action),
                "revocations": self._list(lambda: self._grant(capability), 2),
                "grants": self._list(lambda: self._grant(capability), 2),
                "now_ms": self._one((0, 1, 1_764_500_000_000, 2**53 - 1)),
            }
        )

    def _action(self, capability: str, *, reads: bool) -> dict[str, Any]:
        return {
            "action_id": "action",
            "capability": capability,
            "type": f"{capability}@1",
            "args": self._args(),
            "resource": self._one(_TEXTS),
            "resource_version": self._one(("absent", "v1")),
            "side_effect_class": SideEffect.READ if reads else self._one(tuple(SideEffect)),
            "reversible": self._chance(0.5),
            "facts": {
                "paths": self._list(self._path, 3),
                "urls": self._list(self._url, 2),
                "amount_minor": self._one((None, 0, 1, -1, 9_999, 10_000, 10_001, 2**53 - 1)),
                "currency": self._one((None, "EUR", "USD")),
                "argv": self._list(lambda: self._one(_TEXTS), 3),
                "rows": self._one((None, 0, 1, 1_000)),
                "tables": self._list(lambda: self._one(("users", "payments")), 2),
                "secret_hits": self._one((0, 0, 0, 1)),
                "secret_names": self._list(lambda: self._one(("pay_key", "shop_db")), 2),
                "bytes": self._one((0, 1, 2**40)),
            },
            "repeats_effect": self._chance(0.1),
            "egress": self._chance(0.2),
            "environment": self._one((None, "production", "test")),
            "compensates": self._one((None, "effect-1")),
        }

    def _args(self) -> dict[str, Any]:
        if self._chance(0.5):
            return {
                name: self._list(partial(self._member, name), 2)
                for name in ("allow", "ask", "deny", "limit")
                if self._chance(0.1 if name == "deny" else 0.6)
            }
        if self._chance(0.4):
            return bounded_args(self._random)
        args = {self._one(_TEXTS): self._json(3) for _ in range(self._random.randrange(4))}
        if self._chance(0.01):
            args["x"] = self._one(("\ud800", "a\0b", 2**53, float("inf")))
        return args

    def _member(self, kind: str) -> Any:
        if self._chance(0.03):
            return self._json(2)
        if kind == "limit":
            name = self._one(
                ("max_bytes", "max_rows", "timeout_ms", "read_only", "dry_run", "hosts",
                 "path_roots", "methods", "redact", "sandbox_profile")
            )  # fmt: skip
            name = "unknown" if self._chance(0.02) else name
            return {name: self._limit(name)}
        member: dict[str, Any] = {
            "reason_code": self._one(_CODES[:3] if self._chance(0.9) else _CODES)
        }
        if kind == "ask":
            member |= self._terms()
        elif self._chance(0.02):
            member["more"] = 1
        return member

    def _limit(self, name: str) -> Any:
        if self._chance(0.05):
            return self._json(1)
        if name.startswith("max_") or name == "timeout_ms":
            return self._one((1, 2, 5, 600_000) if self._chance(0.9) else _NUMBERS[:24])
        if name in {"read_only", "dry_run"}:
            return self._chance(0.95)
        if name == "sandbox_profile":
            return self._one(("p", "p", "p", "q", ""))
        items = self._list(lambda: self._one(("x", "y", "z", "é")), 3)
        return items if self._chance(0.05) else ["x", *items]

    def _terms(self) -> dict[str, Any]:
        odd = self._chance(0.1)
        roles = self._list(lambda: self._one(("approver", "a", "b")), 3)
        terms: dict[str, Any] = {
            "roles": roles if odd else ["approver", *roles],
            "quorum": self._one((0, 6, 1.0, 1.5, True) if odd else (1, 2, 5)),
            "expires_in_s": self._one(
                (29, 2_592_001, "60", 60.0) if odd else (30, 60, 86_400, 2_592_000)
            ),
            "separation_of_duty": self._one((1, None) if odd else (True, False)),
            "scopes": self._one(
                ([], ["ever"], "once", [1])
                if odd
                else (["once"], ["task", "class"], ["once", "task", "class"], ["class", "class"])
            ),
        }
        return {name: value for name, value in terms.items() if self._chance(0.25)}

    def _json(self, depth: int) -> Any:
        kind = self._random.randrange(7 if depth else 5)
        if kind < 2:
            return self._one(_TEXTS)
        if kind == 2:
            return self._one(_NUMBERS[:24] if self._chance(0.97) else _NUMBERS)
        if kind < 5:
            return self._one((True, False, None))
        if kind == 5:
            return self._list(lambda: self._json(depth - 1), 3)
        return {self._one(_TEXTS): self._json(depth - 1) for _ in range(self._random.randrange(3))}

    def _path(self) -> dict[str, Any]:
        return {
            "param": "path",
            "segments": ["src", *self._list(lambda: self._one(_NAMES), 2)],
            "inside": self._chance(0.97),
            "exists": self._chance(0.5),
            "symlink": self._chance(0.03),
        }

    def _url(self) -> dict[str, Any]:
        return {
            "scheme": self._one(("https", "http", "file")),
            "host": self._one(_HOSTS),
            "port": self._one((0, 80, 443, 65_535)),
            "has_userinfo": self._chance(0.1),
            "address": self._one(tuple(AddressClass)),
            "method": self._one(("", "GET", "POST")),
        }

    def _approval(self) -> dict[str, Any]:
        return {"approval_id": "p", "approvers": ["bob"], "operation_hash": "sha256:11"}

    def _grant(self, capability: str) -> str:
        return str(self._one((f"capability:{capability}", "user:ada", "resource:x", "", "grant:g")))

    def _list(self, make: Callable[[], Any], most: int) -> list[Any]:
        return [make() for _ in range(self._random.randrange(most + 1))]

    def _one(self, choices: tuple[Any, ...]) -> Any:
        return choices[self._random.randrange(len(choices))]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share
