"""Whether a bundle may decide: it compiles, and its own tests pass."""

import asyncio

from checkrein.contracts.codec import digest_of
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.bundle_tests import test_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy


async def sound_policy(bundle: Bundle) -> EmbeddedPolicy:
    """Load a bundle that may decide.

    Raises:
        InputError, EnvironmentFault: as EmbeddedPolicy.load and `check_own_tests`.
    """
    policy = await EmbeddedPolicy.load(bundle)
    try:
        await check_own_tests(bundle)
    except BaseException:
        await policy.close()
        raise
    return policy


async def check_own_tests(bundle: Bundle) -> None:
    """Run a bundle's own tests, where it has any.

    Raises:
        InputError: one of them does not pass (code policy_tests_failed), or cannot be run.
        EnvironmentFault: the engine cannot be used.
    """
    if not bundle.tests:
        return
    report = await test_bundle(bundle)
    bad = [result for result in report.results if result.outcome in {"fail", "error"}]
    if bad:
        first = bad[0]
        raise InputError(
            f"{len(bad)} of the own tests of the policy bundle {bundle.origin} do not pass, the "
            f"first one {first.path}:{first.line}: {first.name}. "
            f"`checkrein policy test {bundle.origin}` shows them.",
            op="policy.tests",
            code="policy_tests_failed",
            context={"path": bundle.origin, "tests": [result.name for result in bad]},
        )


class TestedBundles:
    """Runs the own tests of the same bundle once, however many attempts ask at once."""

    __test__ = False  # for pytest: this is no test class

    def __init__(self) -> None:
        """None has been tested yet."""
        self._passed: set[str] = set()
        self._turn = asyncio.Lock()

    async def check(self, bundle: Bundle) -> None:
        """As `check_own_tests`; what has passed is not run again."""
        named = digest_of({"version": bundle.version, "tests": dict(bundle.tests)})
        async with self._turn:
            if named not in self._passed:
                await check_own_tests(bundle)
                self._passed.add(named)
