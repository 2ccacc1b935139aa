"""The crash between: a process that sends is killed, and another one sends the same key again."""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from checkrein.contracts.action import Lookup
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.testing.conformance.crash_sender import ANSWERED, ASKED
from checkrein.testing.conformance.target import (
    Act,
    Check,
    NotChecked,
    Target,
    act,
    counted,
    grown,
    must,
    must_commit,
    sent,
)

MOMENTS_S = (0.0, 0.005, 0.03)
"""Seconds between the sender's last look at its lease and its death."""

ELSEWHERE = (
    "a child process that loads the object reaches another store; give Target.environment the "
    "variables by which it finds this one"
)
"""Why a crash is not checked whose effect cannot be seen here."""

_START_S = 30.0
_SETTLE_S = 10.0
_PAUSE_S = 0.1
_ARRIVAL_S = 0.3


def crash_between(name: str | None) -> Check:
    """The check of atomic_key; `name` is MODULE:OBJECT, by which the killed process loads it."""

    async def a_killed_sender_and_its_successor_make_one_effect(target: Target) -> None:
        """Whenever the sender dies, sending the key again leaves exactly one effect."""
        known = _loadable(name)
        before = await counted(target)
        one = await _answered_then_killed(known, target)
        must_commit(await _sent_again(target, one), "sent again after its owner was killed,")
        await grown(target, before, 1, "after the sender had its answer and its key came again")
        for moment in MOMENTS_S:
            await _one_crash(known, target, moment)

    return a_killed_sender_and_its_successor_make_one_effect


def crash_within_a_swap(name: str | None) -> Check:
    """The check of compare_and_set; `name` as above."""

    async def a_killed_sender_and_its_successor_swap_once(target: Target) -> None:
        """Whenever the sender dies, the same swap again leads to the version that it states."""
        known = _loadable(name)
        # `one` is a change again after `other`, and the other way round.
        for n, moment in enumerate((None, *MOMENTS_S)):
            one = await act(target, target.other if n % 2 else target.one)
            await _interrupted(known, target, one, moment)
            if moment is None and await _version(target, one) != one.prepared.to_version:
                raise NotChecked(ELSEWHERE)
            when = "sent again after its owner was killed,"
            must_commit(await _sent_again(target, one), when)
            stated = await _version(target, one) == one.prepared.to_version
            must(stated, f"{when} another version is there than it states")

    return a_killed_sender_and_its_successor_swap_once


def truth_after_crash(name: str | None) -> Check:
    """The check of a look-up; `name` as above. Nothing is sent again."""

    async def after_a_crash_the_lookup_tells_the_truth(target: Target) -> None:
        """What a killed sender did is found, and what it did not do is not claimed."""
        known = _loadable(name)
        await counted(target)
        await _answered_then_killed(known, target)
        for moment in MOMENTS_S:
            before = await counted(target)
            one = await _killed_on_the_way(known, target, moment)
            await _must_agree(target, one, before)

    return after_a_crash_the_lookup_tells_the_truth


def _loadable(name: str | None) -> str:
    if name is None:
        raise NotChecked("a child process can load only what is named MODULE:OBJECT")
    return name


async def _answered_then_killed(name: str, target: Target) -> Act:
    """A sender that lives long enough makes an effect that the target here can see."""
    before = await counted(target)
    one = await act(target, target.one)
    await _interrupted(name, target, one, None)
    if await counted(target) == before:
        raise NotChecked(ELSEWHERE)
    return one


async def _killed_on_the_way(name: str, target: Target, moment: float) -> Act:
    one = await act(target, target.one)
    await _interrupted(name, target, one, moment)
    return one


async def _interrupted(name: str, target: Target, one: Act, moment: float | None) -> None:
    """Let a process send, and kill it a moment after it was asked; None: after its answer."""
    sender = await _started(name, target, one)
    try:
        said = await _said(sender, ANSWERED if moment is None else ASKED)
        await asyncio.sleep(moment or 0)
    finally:
        await _killed(sender)
    if moment is None:
        done = f"{ANSWERED} {EffectStatus.COMMITTED}"
        must(said == done, f"a sender in a process of its own was told {said!r}")


async def _version(target: Target, one: Act) -> str:
    return await target.capability.version(one.prepared.resource)


async def _one_crash(name: str, target: Target, moment: float) -> None:
    before = await counted(target)
    one = await _killed_on_the_way(name, target, moment)
    when = f"killed {moment * 1000:g} ms after its last look, its key sent again,"
    must_commit(await _sent_again(target, one), when)
    await grown(target, before, 1, when)


async def _must_agree(target: Target, one: Act, before: int) -> None:
    """Hold the look-up against the count, once what was on its way has arrived."""
    await asyncio.sleep(_ARRIVAL_S)
    happened = await counted(target) > before
    found = await target.capability.lookup(one.effect)
    claimed = found is not None and found.status is EffectStatus.COMMITTED
    must(happened or not claimed, "it claims an effect of a killed sender that is not there")
    if target.capability.spec.lookup is Lookup.AUTHORITATIVE:
        must(claimed or not happened, "it does not find the effect of a killed sender")


async def _sent_again(target: Target, one: Act) -> Outcome:
    """Send as the next owner does: again and again while the answer is open."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        last = time.monotonic() > deadline
        try:
            outcome = await sent(target, one)
        except CapabilityError as error:
            if last or not (error.retryable or error.effect_possible):
                raise
        else:
            if last or outcome.status is not EffectStatus.UNKNOWN_EFFECT:
                return outcome
        await asyncio.sleep(_PAUSE_S)


async def _started(name: str, target: Target, one: Act) -> Process:
    """A sender in a process group of its own, so that nothing that it starts outlives it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    sender = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "checkrein.testing.conformance.crash_sender",
        env={**os.environ, **target.environment, "PYTHONPATH": paths},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    # The arguments are those of this target: a factory would give the child others.
    job = {"object": name, "args": one.args, "permit": one.permit.model_dump(mode="json")}
    if sender.stdin is not None:
        sender.stdin.write(json.dumps(job).encode() + b"\n")
        with suppress(ConnectionError):  # it ended; what it said tells why
            await sender.stdin.drain()
    return sender


async def _said(sender: Process, word: str) -> str:
    """The line in which the sender says that it has come so far, or a later one.

    Raises:
        NotChecked: it ended before, or said nothing in time.
    """
    if sender.stdout is None or sender.stderr is None:
        raise NotChecked("the child process has no output")
    try:
        async with asyncio.timeout(_START_S):
            # What the target's own code prints is passed over.
            while line := await sender.stdout.readline():
                said = line.decode(errors="replace").strip()
                if said.startswith((word, ANSWERED)):
                    return said
            told = (await sender.stderr.read()).decode(errors="replace").strip()
    except TimeoutError as error:
        raise NotChecked(f"the child process did not send within {_START_S:g} s") from error
    last = told.splitlines()[-1] if told else "nothing was said"
    raise NotChecked(f"the child process ended before it sent: {last[:300]}")


async def _killed(sender: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(sender.pid, signal.SIGKILL)
    # Reading to the end closes the pipes.
    await sender.communicate()
    if sender.stdin is not None:
        sender.stdin.close()
