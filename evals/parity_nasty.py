"""Every nasty case through both engines, and those that never reach one."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from pydantic import ValidationError

from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.evals.both_engines import Oracle, bundle_of, opened, refusals
from checkrein.evals.nasty_answers import answers
from checkrein.evals.nasty_case import NastyCase
from checkrein.evals.nasty_cases import fields


@dataclass
class NastyResult:
    """What became of the cases.

    Attributes:
        answers: name, the embedded engine's answer, OPA's.
        kept_out: one line for each case that something stops before an engine decides on it.
    """

    answers: list[tuple[str, PolicyDecision, PolicyDecision]] = field(
        default_factory=list[tuple[str, PolicyDecision, PolicyDecision]]
    )
    kept_out: list[str] = field(default_factory=list[str])


async def compare_nasty(oracle: Oracle | Path) -> NastyResult:
    """Ask both engines about each case.

    Raises:
        CheckreinError: a case that should be kept out is not.
    """
    found = NastyResult()
    for case in [*fields(), *answers()]:
        if (line := await kept_out(case)) is not None:
            found.kept_out.append(f"nasty: {case.name}: kept out by {case.stopped_by}: {line}")
            continue
        embedded, opa = await judged(case, case.document(), oracle)
        found.answers.append((case.name, embedded, opa))
    return found


async def judged(
    case: NastyCase, document: DecisionInput, oracle: Oracle | Path
) -> tuple[PolicyDecision, PolicyDecision]:
    """Both engines' answers to a case, with nothing to keep it out.

    Raises:
        EnvironmentFault: OPA does not take the bundle.
    """
    bundle = bundle_of(case.rules, entrypoint=case.entrypoint, data=case.data)
    async with opened(bundle, oracle) as engines:
        return await engines.both(document)


async def kept_out(case: NastyCase) -> str | None:
    """What stops a case before any engine decides; None where an engine does decide.

    Raises:
        CheckreinError: the part that should stop it does not.
    """
    if case.stopped_by == "lint":
        bundle = await asyncio.to_thread(
            bundle_of, case.rules, entrypoint=case.entrypoint, data=case.data
        )
        try:
            why = await refusals(bundle)
        except EnvironmentFault as fault:
            why = str(fault)
        if why is None:
            raise CheckreinError(f"The lint lets {case.name} in.", op="parity.nasty")
        return why.splitlines()[0][:160]
    if case.stopped_by == "schema":
        if refused_by_schema(case):
            return "no place in the schema"
        raise CheckreinError(f"The schema lets {case.name} in.", op="parity.nasty")
    return None


def refused_by_schema(case: NastyCase) -> bool:
    """Whether the input's schema, or that of the capability's arguments, refuses the case."""
    if case.schema is not None:
        checker: Any = jsonschema.Draft202012Validator(case.schema)
        return not checker.is_valid(case.raw()["action"]["args"])
    try:
        case.document()
    except ValidationError:
        return True
    return False
