"""Policies that stay loaded between two uses."""

import os
from collections.abc import Callable
from contextlib import aclosing

from loops import ALLOW_ALL, ASK_WRITES

from checkrein.contracts.decision import DecisionInput
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.idle import IdlePolicies


def gone(pid: int) -> bool:
    """Whether no such process is there any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_the_same_bundle_is_lent_again_and_another_is_not() -> None:
    """Protects: one worker for one bundle at a time, and never another bundle's answer."""
    allow, ask = load_bundle(ALLOW_ALL), load_bundle(ASK_WRITES)
    async with aclosing(IdlePolicies()) as policies:
        async with policies.lent(allow) as first, policies.lent(allow) as second:
            assert first is not second
        async with policies.lent(allow) as again, policies.lent(ask) as other:
            assert again in (first, second)
            assert other.version == ask.version
            pid = again.engine_pid
    assert pid is not None
    assert gone(pid)


async def test_closing_a_sound_policy_gives_it_back(document: Callable[[], DecisionInput]) -> None:
    """Protects: the next attempt gets the same worker, and who gave it back decides no more."""
    async with aclosing(IdlePolicies()) as policies:
        first = await policies.sound(load_bundle(ALLOW_ALL))
        assert (await first.decide(document())).reason_code == "allow_all"
        await first.close()
        await first.close()
        assert (await first.decide(document())).reason_code == "policy_unavailable"
        async with policies.lent(load_bundle(ALLOW_ALL)) as again:
            pid = again.engine_pid
            assert pid is not None
            second = await policies.sound(load_bundle(ALLOW_ALL))
            assert first.version == second.version
            assert first.input_text(document()) == second.input_text(document())
            assert first.news() == ()
            await second.close()
    assert gone(pid)
