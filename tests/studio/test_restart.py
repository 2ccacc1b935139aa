"""A server that dies loses nothing: what an attempt is stands in our database."""

import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from studio_server import StudioServer

from checkrein.contracts.attempt import AttemptStatus
from checkrein.harness import Harness
from checkrein.settings import Settings

APPROVE = {"decisions": [{"type": "approve"}]}


async def again(studio: StudioServer, thread: str, **body: Any) -> httpx.Response:
    """Start the server anew and go on with a thread that it may have forgotten."""
    studio.start()
    async with studio.client("alice") as client:
        await client.threads.create(thread_id=thread, if_exists="do_nothing")
    return await studio.run("alice", thread, **body)


@pytest.mark.shows(80, 85)
async def test_killed_before_publishing_and_again_inside_the_write(
    settings: Settings, tmp_path: Path
) -> None:
    """Protects one request and one effect, whoever goes on: another server, or the front door."""
    studio = StudioServer(tmp_path, settings, failpoint="after_checkpoint")
    thread = str(uuid.uuid4())
    try:
        with pytest.raises(httpx.TransportError):
            await again(studio, thread, input={"task": "price_repair/task.yaml"})
        async with Harness.open(settings=settings) as harness:
            report = await harness.status(thread)
            assert (report.status, report.approvals) == (AttemptStatus.RUNNING, [])

            studio.kill()
            studio.failpoint = "after_file_write"
            paused = await again(studio, thread, input={})
            assert paused.json()["__interrupt__"][0]["value"]["kind"] == "approval", paused.text
            with pytest.raises(httpx.TransportError):
                await studio.run("bob", thread, command={"resume": APPROVE})

            report = await harness.recover(thread)
            kinds = [event.type for event in await harness.trace(thread)]
    finally:
        studio.kill()
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    assert [kinds.count(k) for k in ("approval_requested", "approval_decided")] == [1, 1]
    assert kinds.count("action_deduplicated") == 1
    assert kinds.count("model_responded") == 4
