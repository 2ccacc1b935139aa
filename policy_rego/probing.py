"""Asking the engine which condition of a rule failed.

The engine tells only whether a rule is true. So the rule is written again below its own module,
cut after its first condition, after its second, and so on; the first of these that is not true
ends with the condition that failed. What the engine cannot judge by itself, such as a condition
that needs a variable which only a later one binds, is left open and said to be so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from checkrein.contracts.codec import Frozen
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.findings import place_of
from checkrein.policy_rego.output import values_of
from checkrein.policy_rego.syntax import Module, Node, Rule, tagged

PARSE_S = 5.0
MOST_DROPPED = 64
"""Cut rules that the engine may refuse before the rest is left open too."""

_PREFIX = "why_probe_"
_QUOTES = b'"`'


class Condition(Frozen):
    """One condition of a rule.

    Attributes:
        text: as it stands in the file, cut where it is long.
        outcome: `false` it is not true together with those before it, `error` the engine fails
            on it, `unknown` cannot be told, for the reason that `message` gives.
        found: what the input holds where the condition looks, as far as that can be told.
    """

    path: str
    line: int
    column: int
    text: str
    outcome: str
    message: str = ""
    found: list[str] = []


@dataclass
class Probe:
    """A rule cut after `upto` conditions; the uncut one of a set gives its members."""

    rule: Rule
    body: int
    upto: int | None
    text: str
    name: str
    lines: range = field(default_factory=lambda: range(0))
    dropped: bool = False


@dataclass(frozen=True)
class Asked:
    """What a probe came to: its values, or the engine's fault."""

    values: list[Any] | None
    fault: str = ""


class ProbedModule:
    """One module with the probes of some of its rules behind it."""

    def __init__(self, module: Module, rules: Sequence[Rule]) -> None:
        self.module = module
        self.probes: list[Probe] = []
        for number, rule in enumerate(rules):
            self.probes += _probes(module, rule, number)

    def text(self) -> str:
        """The module's source, and every probe that was not dropped."""
        text = self.module.text.rstrip("\n") + "\n"
        line = text.count("\n") + 1
        for probe in self.probes:
            if probe.dropped:
                continue
            size = probe.text.count("\n") + 2
            probe.lines = range(line, line + size)
            text += f"\n{probe.text}\n"
            line += size
        return text

    def drop(self, line: int) -> bool:
        """Leave out the probe on a line, and say whether there was one."""
        for probe in self.probes:
            if not probe.dropped and line in probe.lines:
                probe.dropped = True
                return True
        return False

    def of(self, rule: Rule, body: int) -> list[Probe]:
        """The probes of one body of one rule, shortest first."""
        return [probe for probe in self.probes if probe.rule is rule and probe.body == body]


def bodies_of(rule: Rule) -> list[Node]:
    """The bodies of a rule that stand for themselves; what follows an `else` does not."""
    _, body = tagged(rule.node)
    return [one for one in body.get("bodies", []) if not one["is_else"]]


def statements_of(body: Node) -> list[Node]:
    """The conditions of a body, in the order of the text."""
    found: list[Node] = body["query"]["stmts"]
    return found


def text_of(module: Module, span: Node) -> str:
    """The text of a condition. The engine's spans leave out the quotes at either end."""
    raw = module.text.encode()
    start, end = int(span["start"]), int(span["end"])
    if start and raw[start - 1] in _QUOTES:
        start -= 1
    if end < len(raw) and raw[end] in _QUOTES:
        end += 1
    return raw[start:end].decode(errors="replace")


def _probes(module: Module, rule: Rule, number: int) -> Iterator[Probe]:
    key = _member_text(module, rule) if rule.kind == "Set" else ""
    bodies = bodies_of(rule)
    for place, body in enumerate(bodies):
        said = [text_of(module, one["span"]) for one in statements_of(body)]
        for upto in range(1, len(said) + 1):
            name = f"{_PREFIX}{number}_{place}_{upto}"
            text = f"{name} if {{\n" + "\n".join(said[:upto]) + "\n}"
            yield Probe(rule=rule, body=place, upto=upto, text=text, name=name)
        if key and said:
            name = f"{_PREFIX}{number}_{place}_all"
            text = f"{name} contains {key} if {{\n" + "\n".join(said) + "\n}"
            yield Probe(rule=rule, body=place, upto=None, text=text, name=name)
    if key and not bodies:
        name = f"{_PREFIX}{number}_0_all"
        yield Probe(rule=rule, body=0, upto=None, text=f"{name} contains {key}", name=name)


def _member_text(module: Module, rule: Rule) -> str:
    """What stands behind `contains` in a head."""
    _, head = tagged(tagged(rule.node)[1]["head"])
    return text_of(module, head["span"]).partition("contains")[2].strip()


async def load_probed(
    engine: EngineProcess,
    modules: dict[str, str],
    probed: Sequence[ProbedModule],
    data: str,
    trial: str,
) -> str:
    """Load modules with probes, and drop each probe that the engine cannot compile.

    The engine tells of some faults only when it is first asked, so that it is asked once, with
    the input `trial`. Returns why nothing can be told, or nothing.

    Raises:
        EnvironmentFault: the worker is late or died.
    """
    by_path = {one.module.path: one for one in probed}
    for _ in range(MOST_DROPPED):
        texts = modules | {path: one.text() for path, one in by_path.items()}
        request = {"do": "load", "modules": [*map(list, texts.items())], "data": data}
        reply = await engine.ask({**request, "coverage": False}, limit_s=PARSE_S)
        if "fault" not in reply:
            query = {"do": "eval", "query": "1", "input": trial}
            reply = await engine.ask(query, limit_s=PARSE_S)
        if "fault" not in reply:
            return ""
        place = place_of(str(reply["message"]))
        if place is None or place[0] not in by_path or not by_path[place[0]].drop(place[1]):
            return "the engine refuses the rules when they are cut"
    return "too many conditions cannot be judged by themselves"


async def ask_probe(
    engine: EngineProcess, probed: ProbedModule, probe: Probe, input_text: str, limit_s: float
) -> Asked:
    """Evaluate one probe.

    Raises:
        EnvironmentFault: the worker is late or died.
    """
    if probe.dropped:
        return Asked(None, "a part of it is only known further down")
    query = f"data.{'.'.join(probed.module.package)}.{probe.name}"
    request = {"do": "eval", "query": query, "input": input_text}
    reply = await engine.ask(request, limit_s=limit_s)
    if "fault" in reply:
        _, _, error = str(reply["message"]).rpartition("error: ")
        if "is unsafe" in error:
            probe.dropped = True
            return Asked(None, "a part of it is only known further down")
        return Asked(None, error.partition("\n")[0][:200] or "the engine fails")
    return Asked(values_of(str(reply.get("result"))))


async def first_failed(
    engine: EngineProcess,
    probed: ProbedModule,
    rule: Rule,
    body: int,
    input_text: str,
    limit_s: float,
) -> tuple[Condition, Node] | None:
    """The first condition of a body that is not true, and its node; None where all of them are.

    Raises:
        EnvironmentFault: the worker is late or died.
    """
    statements = statements_of(bodies_of(rule)[body])
    open_since: Node | None = None
    for probe in probed.of(rule, body):
        if probe.upto is None:
            continue
        asked = await ask_probe(engine, probed, probe, input_text, limit_s)
        here = statements[probe.upto - 1]
        if asked.values is None and not probe.dropped:
            return _condition(probed.module, here, "error", asked.fault), here
        if asked.values is None:
            open_since = open_since or here
        elif asked.values != [True]:
            if open_since is None:
                return _condition(probed.module, here, "false", ""), here
            line = probed.module.finding(here["span"], "", "", "").line
            why = f"one of the conditions from here to line {line} is not true"
            return _condition(probed.module, open_since, "unknown", why), open_since
        else:
            open_since = None
    if open_since is None:
        return None
    why = "it cannot be judged by itself"
    return _condition(probed.module, open_since, "unknown", why), open_since


def _condition(module: Module, statement: Node, outcome: str, message: str) -> Condition:
    place = module.finding(statement["span"], "", "", "")
    text = text_of(module, statement["span"])
    # The engine counts from behind the quote that a text begins with.
    shift = 1 if text[:1] in {'"', "`"} else 0
    return Condition(
        path=module.path,
        line=place.line,
        column=place.column - shift,
        text=" ".join(text.split())[:160],
        outcome=outcome,
        message=message,
    )
