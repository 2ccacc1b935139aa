"""What is held against a bundle before it may decide anything.

The text is parsed by the engine in its own process; the checks here read the tree. They keep a
bundle in the part of Rego that OPA and the embedded engine evaluate alike, and find what the
engine would only meet while it evaluates, or never tell at all. Last comes a decision on trial.
"""

from collections.abc import Mapping
from typing import Any

from checkrein.contracts.action import Facts, SideEffect
from checkrein.contracts.codec import json_object
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import (
    ActionFacts,
    ActorFacts,
    AttemptFacts,
    DecisionInput,
    ProvenanceFacts,
    Reserved,
    TaskFacts,
)
from checkrein.contracts.task import Risk
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego.bundle_files import ENTRYPOINT_PATH, Bundle
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.evaluation import QUERY, load_into
from checkrein.policy_rego.findings import Finding, from_engine
from checkrein.policy_rego.input_document import input_text
from checkrein.policy_rego.lint_calls import call_findings, functions_of
from checkrein.policy_rego.lint_cycles import cycle_findings
from checkrein.policy_rego.lint_inputs import input_findings
from checkrein.policy_rego.lint_names import name_findings
from checkrein.policy_rego.lint_rules import data_findings, rule_findings
from checkrein.policy_rego.lint_values import code_findings, empty_tests, value_findings
from checkrein.policy_rego.output import Refusal, decoded
from checkrein.policy_rego.syntax import Module, module_of

PARSE_S = 5.0
"""Seconds that reading one file may take: the engine's parser is slow on deep nesting."""


async def lint(
    bundle: Bundle,
    engine: EngineProcess,
    *,
    deadline_s: float,
    tests: bool = False,
) -> list[Finding]:
    """Check a bundle, its tests too where asked, and leave it loaded in `engine`.

    After an error nothing is loaded, and after a fault of the engine it is not usable any more.

    Raises:
        EnvironmentFault: the engine cannot be used at all.
    """
    texts = {**bundle.modules, **(bundle.tests if tests else {})}
    findings, modules = await parsed(texts, engine)
    if findings:
        return findings
    functions = functions_of(modules)
    for module in modules:
        findings += rule_findings(module)
        findings += call_findings(module, functions)
        findings += input_findings(module)
        findings += value_findings(module)
        findings += empty_tests(module)
    findings += cycle_findings(modules)
    findings += code_findings(modules)
    data: Any = json_object(bundle.data, op="policy.lint")
    findings += name_findings(modules, data)
    deciding = [module for module in modules if not module.is_test]
    findings += data_findings(bundle, data, deciding)
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.column, finding.rule))
    if not any(finding.level == "error" for finding in findings):
        findings += await _trial(bundle, engine, deadline_s=deadline_s)
    return findings


async def parsed(
    texts: Mapping[str, str], engine: EngineProcess
) -> tuple[list[Finding], list[Module]]:
    """Parse modules one by one, so that a file that breaks the engine is known by name."""
    findings: list[Finding] = []
    modules: list[Module] = []
    # Ours first: it parses, so that where it does not the engine itself is at fault.
    for path in sorted(texts, key=lambda path: (path != ENTRYPOINT_PATH, path)):
        text = texts[path]
        try:
            reply = await engine.ask({"do": "parse", "path": path, "text": text}, limit_s=PARSE_S)
        except EnvironmentFault as fault:
            if path == ENTRYPOINT_PATH:
                raise
            findings.append(_broken(path, fault))
            return findings, modules
        if "fault" in reply:
            findings.append(
                from_engine(str(reply["message"]), dict(texts), rule="syntax", fallback=path)
            )
        else:
            modules.append(module_of(path, text, reply["ast"]))
    return findings, modules


def trial_input() -> DecisionInput:
    """An action that no policy knows. Whatever the answer, there must be one."""
    return DecisionInput(
        phase="propose",
        tenant="trial",
        task=TaskFacts(
            task_id="trial",
            risk=Risk.HIGH,
            contract_version="trial",
            capabilities=[],
            requested_by="trial",
        ),
        attempt=AttemptFacts(attempt_id="trial", number=1, turn=1),
        actor=ActorFacts(user="trial", agent="trial", runtime="trial"),
        action=ActionFacts(
            action_id="trial",
            capability="checkrein.trial",
            type="checkrein.trial@1",
            args={},
            resource="trial",
            resource_version="absent",
            side_effect_class=SideEffect.IRREVERSIBLE,
            reversible=False,
            facts=Facts(),
        ),
        provenance=ProvenanceFacts(lowest_trust=Trust.EXTERNAL, untrusted=True),
        budget={},
        now_ms=0,
    )


async def _trial(bundle: Bundle, engine: EngineProcess, *, deadline_s: float) -> list[Finding]:
    texts = dict(bundle.modules)
    try:
        await load_into(engine, bundle, limit_s=PARSE_S)
        reply: dict[str, Any] = await engine.ask(
            {"do": "eval", "query": QUERY, "input": input_text(trial_input()).decode()},
            limit_s=deadline_s,
        )
    except EnvironmentFault as fault:
        found = from_engine(str(fault), texts, rule="trial", fallback=ENTRYPOINT_PATH)
        if fault.code != Reserved.POLICY_TIMEOUT:
            return [found]
        advice = "Some rule takes too long: iterate over less. `checkrein policy test` times rules."
        return [found.model_copy(update={"advice": advice})]
    if "fault" in reply:
        message = str(reply["message"])
        return [from_engine(message, texts, rule="trial", fallback=ENTRYPOINT_PATH)]
    answer = decoded(str(reply.get("result")))
    codes = [answer.code.value] if isinstance(answer, Refusal) else answer.reasons
    if codes[0] not in {reserved.value for reserved in Reserved}:
        return []
    return [
        Finding(
            rule="trial",
            path=ENTRYPOINT_PATH,
            line=1,
            column=1,
            message=f"A decision on trial came out as {', '.join(codes)}.",
            advice="Mend the members of the sets that are named there.",
        )
    ]


def _broken(path: str, fault: EnvironmentFault) -> Finding:
    return Finding(
        rule="syntax",
        path=path,
        line=1,
        column=1,
        message=f"The engine breaks on this file: {fault}",
        advice="Nest less deeply, or split the file.",
    )
