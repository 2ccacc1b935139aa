"""A module's syntax tree as the engine parses it, in the few terms that the lint speaks in.

The tree is JSON made of tagged objects: {"Call": {"span": ..., "fcn": ..., "params": [...]}}.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.json_shapes import is_list, is_object

Node = dict[str, Any]
Path = tuple[str, ...]

TEST_FILE = "_test.rego"
_REFS = {"Var", "RefDot", "RefBrack"}
_TEXTS = {"String", "RawString"}
_START_OF_FILE = {"line": 1, "start": 0}


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference such as input.action.args[i]: its first name, and what follows.

    Attributes:
        name: the first name: input, data, a rule, an import or a local variable.
        parts: the following names; None where one is only known when it is evaluated.
        spans: where each part stands; the first span is that of the whole.
        indexes: the expressions in brackets, to be looked at on their own.
    """

    name: str
    parts: tuple[str | None, ...]
    spans: tuple[Node, ...]
    indexes: tuple[Node, ...]

    @property
    def constant(self) -> Path | None:
        """The whole path where every part is known."""
        known = tuple(part for part in self.parts if part is not None)
        return (self.name, *known) if len(known) == len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule or default of a module. `kind`: Set, Func, Compr or Default."""

    kind: str
    ref: Ref
    node: Node
    span: Node

    @property
    def name(self) -> str:
        """The rule's name, without what its head's reference adds to it."""
        return self.ref.name


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed module.

    Attributes:
        imports: the name in this file to the path that it stands for.
        import_spans: where each of these paths stands.
    """

    path: str
    text: str
    package: Path
    package_span: Node
    imports: dict[str, Path]
    import_spans: dict[str, Node]
    keywords: frozenset[str]
    rules: tuple[Rule, ...]

    @property
    def is_test(self) -> bool:
        """Whether the file is a test, which never decides."""
        return self.path.endswith(TEST_FILE)

    def finding(self, span: Node, rule: str, message: str, advice: str) -> Finding:
        """An error at a place in this file."""
        raw = self.text.encode()
        start = int(span["start"])
        line_start = raw.rfind(b"\n", 0, start) + 1
        column = len(raw[line_start:start].decode(errors="replace")) + 1
        return Finding(
            rule=rule,
            path=self.path,
            line=int(span["line"]),
            column=column,
            message=message,
            advice=advice,
        )

    def source(self, span: Node) -> str:
        """The text that a span covers."""
        return self.text.encode()[span["start"] : span["end"]].decode(errors="replace")


def module_of(path: str, text: str, tree: Node) -> Module:
    """Read a module from the engine's tree."""
    package = ref_of(tree["package"]["refr"])
    imports: dict[str, Path] = {}
    spans: dict[str, Node] = {}
    keywords: set[str] = set()
    for item in tree["imports"]:
        named = ref_of(item["refr"])
        target = named.constant if named else None
        if target is None:
            continue
        if target[:2] == ("future", "keywords"):
            keywords.update(target[2:])
            continue
        alias = item.get("as")
        given = text.encode()[alias["start"] : alias["end"]].decode() if alias else target[-1]
        imports[given] = target
        spans[given] = ref_spans(item["refr"])
    return Module(
        path=path,
        text=text,
        package=(package.constant or ()) if package else (),
        package_span=tree["package"]["span"] if package else _START_OF_FILE,
        imports=imports,
        import_spans=spans,
        keywords=frozenset(keywords),
        rules=tuple(_rule(node) for node in tree["rules"]),
    )


def _rule(node: Node) -> Rule:
    (tag, body), *_ = node.items()
    if tag == "Default":
        kind, head = "Default", body["refr"]
    else:
        (kind, shape), *_ = body["head"].items()
        head = shape["refr"]
    ref = ref_of(head)
    assert ref is not None, "a head is always a reference"
    return Rule(kind=kind, ref=ref, node=node, span=body["span"])


def ref_of(node: Node) -> Ref | None:
    """The reference that an expression is, or None where it is something else."""
    parts: list[str | None] = []
    spans: list[Node] = []
    indexes: list[Node] = []
    while True:
        tag, body = tagged(node)
        if tag == "Var":
            whole = spans[-1] if spans else body["span"]
            return Ref(
                name=str(body["value"]),
                parts=tuple(reversed(parts)),
                spans=({**whole, "start": body["span"]["start"]}, *reversed(spans)),
                indexes=tuple(indexes),
            )
        if tag == "RefDot":
            span, name = body["field"]
            parts.append(str(name))
            spans.append(span)
        elif tag == "RefBrack":
            kind, index = tagged(body["index"])
            parts.append(str(index["value"]) if kind in _TEXTS else None)
            spans.append(index["span"] if kind in _TEXTS else body["span"])
            indexes.append(body["index"])
        else:
            return None
        node = body["refr"]


def ref_spans(node: Node) -> Node:
    """Where a whole reference stands."""
    ref = ref_of(node)
    assert ref is not None, "the caller has read it as one"
    return ref.spans[0]


def tagged(node: Any) -> tuple[str, Node]:
    """The tag and body of a tagged object; an empty tag for everything else."""
    if not is_object(node) or len(node) != 1:
        return "", {}
    ((tag, body),) = node.items()
    return (tag, body) if tag[:1].isupper() and is_object(body) else ("", {})


def content(rule: Rule) -> list[Any]:
    """What a rule says, its own name left out: arguments, key, value and bodies."""
    _, body = tagged(rule.node)
    if rule.kind == "Default":
        return [body["value"]]
    _, head = tagged(body["head"])
    return [
        list(rule.ref.indexes),
        [part for name, part in head.items() if name not in {"refr", "span"}],
        body["bodies"],
    ]


def nodes(node: Any) -> Iterator[tuple[str, Any]]:
    """Every tagged object below a node, outer ones first, in the order of the text.

    A reference comes once and whole, as ("Ref", Ref); what a call calls is no reference of its
    own.
    """
    waiting: list[Any] = [node]
    while waiting:
        item = waiting.pop()
        if is_list(item):
            waiting.extend(reversed(item))
            continue
        if not is_object(item):
            continue
        tag, body = tagged(item)
        ref = ref_of(item) if tag in _REFS else None
        if ref is not None:
            yield "Ref", ref
            waiting.extend(reversed(ref.indexes))
        elif tag == "Call" and ref_of(body["fcn"]) is not None:
            yield tag, body
            waiting.extend(reversed(body["params"]))
        else:
            if tag:
                yield tag, body
            waiting.extend(reversed(list((body if tag else item).values())))
