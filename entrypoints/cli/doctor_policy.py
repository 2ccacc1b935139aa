"""doctor's look at the policy: what the settings name, as a run that starts now would find it."""

import asyncio
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.doctor_part import Part
from checkrein.errors import CheckreinError, InputError

if TYPE_CHECKING:
    from checkrein.compose import Standing
    from checkrein.ports.decisions import RecordedChange
    from checkrein.settings import Settings

_SHIPPED = "reinstall Checkrein; its own rules cannot be loaded"
_FOLDER = "mend the folder (`checkrein policy check`, `checkrein policy test`), or put it back"
_SERVER = "start or mend the server, or name another by CHECKREIN_POLICY (docs/policies-opa.md)"


def policy_part(settings: "Settings", *, recorded: bool) -> Part:
    """Whether what CHECKREIN_POLICY names may decide, and what a run said of it last.

    `recorded`: the database can be asked for that.
    """
    named = settings.policy
    is_opa = named is not None and named.startswith("opa:")
    how = _SHIPPED if named is None else _SERVER if is_opa else _FOLDER
    last = _last(settings) if recorded else ""
    from checkrein import compose

    try:
        standing = asyncio.run(compose.policy_standing(settings))
    except CheckreinError as error:
        kept = "" if is_opa or named is None else " Runs that go on keep the bundle that they have."
        # What is no address may hold a password, and is not repeated.
        told = "opa:URL" if is_opa and isinstance(error, InputError) else _name(settings)
        detail = f"{told}: {error}{kept}{last}"
        return Part("policy", True, False, None, "deciding what may happen", how, detail)
    detail = f"{_name(settings)}: {_words(settings, standing)}.{last}"
    return Part("policy", True, True, standing.version, "deciding what may happen", how, detail)


def _name(settings: "Settings") -> str:
    if settings.policy is None:
        return "the shipped bundle"
    return settings.policy if settings.policy.startswith("opa:") else f"embedded:{settings.policy}"


def _words(settings: "Settings", standing: "Standing") -> str:
    if standing.server is not None:
        served = ", ".join(standing.served)
        accepted = (
            "all of them in CHECKREIN_OPA_REVISIONS"
            if settings.opa_revisions
            else "CHECKREIN_OPA_REVISIONS lists none, so that each run accepts what it finds"
        )
        return f"OPA {standing.server} answers and serves {served}; {accepted}"
    if settings.policy is None:
        return "compiles"
    return "compiles and passes its own tests" if standing.tested else "compiles; it has no tests"


def _last(settings: "Settings") -> str:
    from checkrein import compose

    try:
        found = asyncio.run(compose.last_policy_change(settings))
    except CheckreinError:
        return ""  # the database was told of already
    return "" if found is None else f" {_told(found)}"


def _told(found: "RecordedChange") -> str:
    from checkrein.contracts.event import PolicyRefused

    change, where = found.change, f"{found.at[:19]}Z, {found.attempt_id}/{found.seq}"
    if isinstance(change, PolicyRefused):
        return (
            f"The last change that a run met was refused ({where}); {change.serving} went on: "
            f"{change.problem}"
        )
    return f"The last change that a run met was taken over ({where}): {change.version}"
