"""Asks candidate_judge.py, in a process with a deadline: no text of a candidate hangs the gate.

The expressions and schemas are Python's, so that a task file means what its author tested; an
engine with linear time would know another language. The deadline is what bounds them instead.
"""

import json
import sys
from pathlib import Path
from typing import Any

from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import CommandRunner, Confinement

DEADLINE_S = 10.0
"""How long one text is judged, seconds."""

_SCRIPT = Path(__file__).with_name("candidate_judge.py")


class Undecided(Exception):  # noqa: N818 - becomes a verdict, never an error of ours
    """The text could not be judged; its text says why."""


class JudgedApart:
    """Judges texts by a runner of commands."""

    def __init__(self, runner: CommandRunner, deadline_s: float = DEADLINE_S) -> None:
        """`deadline_s`: how long one text is judged, seconds."""
        self._runner = runner
        self._deadline_s = deadline_s

    async def problems(self, judge: str, text: str, **order: Any) -> list[tuple[str, str]]:
        """What is wrong with a text, each with its place; nothing, where all is well.

        Raises:
            Undecided: no answer in time, or the expression or schema cannot be used.
            EnvironmentFault: no process could be started.
        """
        asked = json.dumps({"judge": judge, "text": text, **order}).encode()
        result = await self._runner.run(
            [sys.executable, "-I", str(_SCRIPT)],
            cwd=_SCRIPT.parent,
            confinement=Confinement(timeout_s=self._deadline_s),
            stdin=asked,
        )
        if result.timed_out:
            raise Undecided(f"it could not be judged within {self._deadline_s:g} s")
        if result.exit_code is not None and result.exit_code < 0:
            raise Undecided(f"judging it was ended by signal {-result.exit_code}")
        if result.exit_code != 0:
            raise EnvironmentFault(
                "The process that judges a candidate's text failed. Run `checkrein doctor`.",
                op="verify.apart",
                code="judge_failed",
            )
        answer = json.loads(result.stdout)
        if "broken" in answer:
            raise Undecided(answer["broken"])
        return [(str(place), str(problem)) for place, problem in answer["problems"]]
