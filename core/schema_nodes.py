"""The parts of a JSON Schema that speak of one place in a document."""

from typing import Any

from checkrein.yaml_document import DataPath


def schemas_at(root: dict[str, Any], path: DataPath) -> list[dict[str, Any]]:
    """The schemas that a value at this path may follow, references and unions resolved."""
    nodes = _flat(root, root)
    for part in path:
        below: list[dict[str, Any]] = []
        for node in nodes:
            named = node.get("properties", {}).get(part) or node.get("additionalProperties")
            inner: Any = node.get("items") if isinstance(part, int) else named
            if inner and inner is not True:
                below += _flat(inner, root)
        nodes = below
    return nodes


def _flat(node: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in node:
        return _flat(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for union in ("anyOf", "oneOf"):
        if union in node:
            return [flat for inner in node[union] for flat in _flat(inner, root)]
    return [node]
