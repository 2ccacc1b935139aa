"""compose's part that opens the policy: the shipped bundle, a folder that is followed, a server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from checkrein.contracts.attempt import WorkspaceRef
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import load_bundle, shipped_bundle
from checkrein.policy_rego.idle import IdlePolicies
from checkrein.policy_rego.opa_extra import PREFIX, open_opa
from checkrein.policy_rego.reload import ReloadingPolicy
from checkrein.ports.policy import Policy
from checkrein.settings import Settings


@asynccontextmanager
async def opened_policy(
    named: str | None, settings: Settings, policies: IdlePolicies
) -> AsyncGenerator[Policy]:
    """Open what decides in one attempt: a folder or `opa:URL`, else the shipped bundle.

    Raises:
        InputError: the bundle may not decide, or the address cannot be used.
        EnvironmentFault: the engine cannot be started, or the server cannot be believed.
    """
    if named is None:
        bundle = await asyncio.to_thread(shipped_bundle)
        async with policies.lent(bundle) as shipped:
            yield shipped
        return
    policy: Policy
    if named.startswith(PREFIX):
        policy = await _opa(named, settings)
    else:
        policy = await ReloadingPolicy.load(Path(named), opener=policies.sound)
    try:
        yield policy
    finally:
        await policy.close()


def check_apart(named: str | None, workspace: WorkspaceRef) -> None:
    """Refuse a policy that lies where the work's own effects could change it. Blocking.

    A changed bundle decides from the next decision on: a model that may write files would write
    its own rules.

    Raises:
        InputError: the bundle's folder and the workspace lie one inside the other (code
            policy_in_workspace).
    """
    if named is None or named.startswith(PREFIX):
        return
    bundle, root = Path(named).resolve(), Path(workspace.root).resolve()
    if bundle.is_relative_to(root) or root.is_relative_to(bundle):
        raise InputError(
            f"The policy {bundle} and the workspace {root} lie one inside the other, so that the "
            "work could change the rules that it is judged by. Keep the policy elsewhere, or work "
            "on a copy (`mode: copy`).",
            op="policy.opening",
            code="policy_in_workspace",
        )


def own_places(settings: Settings) -> dict[str, Path | None]:
    """What of this installation no command of a task may see, by the name that people know."""
    named = settings.policy
    folder = None if named is None or named.startswith(PREFIX) else Path(named)
    return {
        "Checkrein's home": settings.home,
        "the secrets": settings.secrets,
        "the installation's policy": folder,
        "the policy in the shadow": _path(settings.policy_shadow),
        "the deliverers": _path(settings.deliverers),
    }


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


class Standing(NamedTuple):
    """How what the settings name stands right now.

    Attributes:
        tested: whether a folder's bundle has tests of its own; they passed.
        server: the OPA server's version; None for a bundle.
        served: the revisions that it says it serves.
    """

    version: str
    tested: bool = False
    server: str | None = None
    served: tuple[str, ...] = ()


async def policy_standing(settings: Settings) -> Standing:
    """Open what the settings name, as an attempt would that starts now, and close it again.

    The shipped bundle's tests are not run here.

    Raises:
        InputError, EnvironmentFault: as `opened_policy`: no attempt could start, and one that goes
            on keeps the bundle that it has.
    """
    named = settings.policy
    async with (
        aclosing(IdlePolicies()) as policies,
        opened_policy(named, settings, policies) as policy,
    ):
        if named is None:
            return Standing(policy.version)
        if named.startswith(PREFIX):
            opa: Any = policy  # its class is in an extra
            return Standing(policy.version, server=opa.server_version, served=opa.served)
        bundle = await asyncio.to_thread(load_bundle, Path(named))
        return Standing(policy.version, tested=bool(bundle.tests))


async def _opa(named: str, settings: Settings) -> Policy:
    """The server that is named. What is secret goes to the one of the settings alone.

    Else a task file could have the token sent to a server of its own.
    """
    url = named.removeprefix(PREFIX)
    if named != settings.policy:
        return await open_opa(url)
    return await open_opa(
        url, token=settings.opa_token, ca=settings.opa_ca, revisions=settings.opa_revisions
    )
