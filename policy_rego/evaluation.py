"""Loading a bundle into a worker and asking it for a decision."""

from collections.abc import Mapping

from checkrein.contracts.decision import Reserved
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.findings import place_of
from checkrein.policy_rego.output import Answer, Refusal, decoded

QUERY = "data.checkrein.decision"
"""What is evaluated; the same for every engine and every bundle."""


async def load_into(
    engine: EngineProcess,
    bundle: Bundle,
    *,
    limit_s: float,
    tests: Mapping[str, str] | None = None,
    coverage: bool = False,
) -> None:
    """Load a bundle, and tests where given, into a worker, in place of what it held.

    Raises:
        EnvironmentFault: the engine refuses the bundle, is late, or died.
    """
    modules = {**bundle.modules, **(tests or {})}
    reply = await engine.ask(
        {
            "do": "load",
            "modules": [[path, text] for path, text in modules.items()],
            "data": bundle.data,
            "coverage": coverage,
        },
        limit_s=limit_s,
    )
    if "fault" in reply:
        raise EnvironmentFault(
            f"The policy engine refuses the bundle:\n{reply['message']}",
            op="policy.load",
            code=Reserved.POLICY_UNAVAILABLE,
        )


async def decide(engine: EngineProcess, input_text: str, *, limit_s: float) -> Answer:
    """Ask a loaded worker for the decision on one input.

    The engine's own message may quote the input, so only the place in the policy is passed on.

    Raises:
        EnvironmentFault: the worker is late or died.
    """
    reply = await engine.ask({"do": "eval", "query": QUERY, "input": input_text}, limit_s=limit_s)
    fault = reply.get("fault")
    if fault is None:
        return decoded(str(reply.get("result")))
    if fault == "input":
        return Refusal(Reserved.POLICY_INPUT_INVALID, "The policy engine cannot read the input.")
    place = place_of(reply["message"])
    where = f" at {place[0]}:{place[1]}" if place else ""
    return Refusal(
        Reserved.POLICY_ERROR,
        f"The policy failed{where}. Test the rule there with this kind of input.",
    )
