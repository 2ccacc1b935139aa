"""Rules of the library judge plain functions by the facts that they declare."""

import json
from pathlib import Path
from typing import Any

import pytest
from loops import DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.contracts.event import Observed
from checkrein.contracts.observation import Observation
from checkrein.policy_rego import library
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

OWN = """\
package checkrein.rules.own

allow contains {"reason_code": "own_allows"}
"""


async def bundle(folder: Path, name: str, data: dict[str, Any]) -> Path:
    """One rule of the library with its data, beside a rule that allows everything."""
    place = folder / "rules_of_ours"
    await library.add_to(place, [name])
    (place / "checkrein/rules/own.rego").write_text(OWN, encoding="utf-8")
    (place / f"checkrein/{name}/data.json").write_text(json.dumps(data), encoding="utf-8")
    return place


async def told(
    folder: Path, settings: Settings, policy: Path, wanted: dict[str, Any], function: Capability
) -> Observation:
    """What the model is told of one call of one function."""
    task = contract(folder, [says("", wanted), DONE], policy=policy, capabilities=[wanted["name"]])
    async with opened(settings, function) as (harness, parts):
        report = await harness.run(task)
        found = await payloads(parts, report.attempt_id)
    (seen,) = [p.observation for p in found if isinstance(p, Observed)]
    return seen


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [
        ("https://api.shop.example/v1", "ok", None),
        ("https://API.SHOP.EXAMPLE./v1", "ok", None),
        ("https://evil.example/v1", "denied", "host_not_listed"),
        ("https://api.shop.example@evil.example/", "denied", "address_has_userinfo"),
        ("http://api.shop.example/v1", "denied", "address_not_https"),
        ("https://api.shop.example\\@evil.example/", "invalid", "url_refused"),
        ("api.shop.example", "invalid", "url_refused"),
    ],
)
async def test_a_host_that_is_not_listed_is_out_of_a_functions_reach(
    url: str, status: str, code: str | None, tmp_path: Path, settings: Settings
) -> None:
    """Protects what leaves the machine: the rule sees the host, however it is written."""
    posted: list[str] = []

    @capability("web.post", egress=True, facts={"urls": "url"})
    async def post(url: str) -> None:
        """Post something."""
        posted.append(url)

    data = {"capabilities": [], "hosts": ["api.shop.example"], "ports": [443, 80], "limited": []}
    policy = await bundle(tmp_path, "network", data)
    seen = await told(tmp_path, settings, policy, call("web.post", url=url), post)
    assert seen.status == status
    assert code is None or (seen.diagnostics and seen.diagnostics.error_type == code)
    assert posted == ([url] if status == "ok" else [])


@pytest.mark.parametrize(
    ("amount", "status", "code"),
    [(1000, "ok", ""), (1001, "denied", "amount_too_large"), (-1, "denied", "amount_negative")],
)
async def test_money_of_a_function_is_judged(
    amount: int, status: str, code: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects money that moves by a function: the rule sees how much it is, in which currency."""
    paid: list[int] = []

    @capability("shop.pay", facts={"amount_minor": "cents", "currency": "EUR"})
    async def pay(cents: int) -> None:
        """Pay."""
        paid.append(cents)

    limits = {"EUR": {"allow_up_to": 1000, "ask_up_to": 1000}}
    data = {"capabilities": ["shop.pay"], "currencies": limits, "limited": []}
    policy = await bundle(tmp_path, "money", data | {"roles": ["approver"], "quorum": 1})
    seen = await told(tmp_path, settings, policy, call("shop.pay", cents=amount), pay)
    assert seen.status == status
    assert not code or (seen.diagnostics and seen.diagnostics.error_type == code)
    assert paid == ([amount] if status == "ok" else [])


async def test_a_command_of_a_function_is_judged_by_its_words(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the machine: a shell is found behind whatever stands before it."""

    @capability("jobs.run", facts={"argv": "command"})
    async def run(command: list[str]) -> None:
        """Run a job."""
        raise AssertionError("it must not run")

    data = {"capabilities": ["jobs.run"], "exact": [["make", "test"]], "prefixes": [["env"]]}
    policy = await bundle(tmp_path, "commands", data)
    wanted = call("jobs.run", command=["env", "/bin/bash", "-c", "make test"])
    seen = await told(tmp_path, settings, policy, wanted, run)
    assert seen.status == "denied"
    assert seen.diagnostics is not None
    assert seen.diagnostics.error_type == "command_is_shell"
