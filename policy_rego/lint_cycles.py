"""Rules that depend on themselves. Found before anything is evaluated, since a function that calls
itself ends the engine's process by a stack overflow."""

from collections.abc import Iterator, Sequence

from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.lint_calls import called
from checkrein.policy_rego.syntax import Module, Path, Ref, Rule, content, nodes, tagged

Graph = dict[Path, set[Path]]

ENTRYPOINT: Path = ("checkrein",)
NAMED = 4  # rules of a circle that a finding names


def cycle_findings(modules: Sequence[Module]) -> Iterator[Finding]:
    """One finding for each circle of rules, at its first rule."""
    places: dict[Path, tuple[Module, Rule]] = {}
    for module in modules:
        for rule in module.rules:
            places.setdefault((*module.package, rule.name), (module, rule))
    graph: Graph = {path: set() for path in places}
    by_prefix = _by_prefix(places)
    for module in modules:
        names = {rule.name for rule in module.rules}
        names |= {path[-1] for path in places if path[:-1] == module.package}
        for rule in module.rules:
            for wanted in _wanted(module, rule, names):
                graph[(*module.package, rule.name)] |= _matching(wanted, places, by_prefix)
    for circle in circles(graph):
        # At a rule of the author's: the entrypoint is part of a circle only through such a one.
        own = [path for path in circle if path[:-1] != ENTRYPOINT] or circle
        module, rule = places[own[0]]
        message, advice = _said(circle, own)
        yield module.finding(rule.span, "recursion", message, advice)


def _said(circle: list[Path], own: list[Path]) -> tuple[str, str]:
    named = [".".join(path) for path in own[:NAMED]]
    if len(own) < len(circle):
        return (
            f"{named[0]} asks for the decision, which asks all that lies below checkrein.rules.",
            "A rule judges by the input and data alone; tests of the decision belong in a package "
            "such as checkrein.decision_test.",
        )
    advice = "Rego has no recursion: iterate with `some`, `every` or walk."
    if len(circle) == 1:
        return f"{named[0]} depends on itself.", advice
    rest = f" and {len(own) - len(named)} more" if len(own) > len(named) else ""
    return f"{', '.join(named)}{rest} depend on each other.", advice


def _by_prefix(places: dict[Path, tuple[Module, Rule]]) -> dict[Path, set[Path]]:
    found: dict[Path, set[Path]] = {}
    for path in places:
        for size in range(len(path) + 1):
            found.setdefault(path[:size], set()).add(path)
    return found


def _matching(
    wanted: Path, places: dict[Path, tuple[Module, Rule]], by_prefix: dict[Path, set[Path]]
) -> set[Path]:
    """The rules that a path below data means: those below it, or the one that it looks into."""
    below = by_prefix.get(wanted)
    if below:
        return below
    return {wanted[:size] for size in range(len(wanted)) if wanted[:size] in places}


def _wanted(module: Module, rule: Rule, names: set[str]) -> Iterator[Path]:
    """The paths below data that a rule needs, cut where a part is only known later."""
    local = locals_of(module, rule)
    for tag, body in nodes(content(rule)):
        if tag == "Call":
            function = called(module, body)
            yield function
            yield (*module.package, *function)
        elif tag == "Ref":
            path = _below_data(module, body, names, local)
            if path is not None:
                yield path


def _below_data(module: Module, ref: Ref, names: set[str], local: set[str]) -> Path | None:
    known: list[str] = []
    for part in ref.parts:
        if part is None:
            break
        known.append(part)
    if ref.name in local:
        return None
    if ref.name == "data":
        return tuple(known)
    target = module.imports.get(ref.name)
    if target is not None:
        return (*target[1:], *known) if target[:1] == ("data",) else None
    return (*module.package, ref.name, *known) if ref.name in names else None


def locals_of(module: Module, rule: Rule) -> set[str]:
    """The names that a rule declares for itself; they hide rules of the same name."""
    found: set[str] = set()
    if rule.kind == "Func":
        _, head = tagged(tagged(rule.node)[1]["head"])
        found |= _variables(head["args"])
    for tag, body in nodes(content(rule)):
        match tag:
            case "SomeVars":
                found |= {module.source(span) for span in body["vars"]}
            case "SomeIn":
                found |= _variables([body["key"], body["value"]])
            case "Every":
                spans = [span for span in (body["key"], body["value"]) if span]
                found |= {module.source(span) for span in spans}
            case "AssignExpr" if body["op"] == "ColEq":
                found |= _variables(body["lhs"])
            case _:
                pass
    return found


def _variables(node: object) -> set[str]:
    return {ref.name for tag, ref in nodes(node) if tag == "Ref" and not ref.parts}


def circles(graph: Graph) -> Iterator[list[Path]]:
    """The strongly connected parts of a graph that are circles, each sorted (Tarjan's way)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    held: list[Path] = []
    on_hold: set[Path] = set()
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph[start])))]
        while work:
            node, following = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                held.append(node)
                on_hold.add(node)
            for other in following:
                if other not in index:
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_hold:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = _taken(held, on_hold, node)
                    if len(part) > 1 or node in graph[node]:
                        yield sorted(part)


def _taken(held: list[Path], on_hold: set[Path], until: Path) -> list[Path]:
    part: list[Path] = []
    while True:
        node = held.pop()
        on_hold.discard(node)
        part.append(node)
        if node == until:
            return part
