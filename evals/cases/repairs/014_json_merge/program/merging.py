"""JSON Merge Patch (RFC 7396)."""

from typing import Any

Json = Any


def merge_patch(target: Json, patch: Json) -> Json:
    """What the target becomes under a patch: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def diff(before: Json, after: Json) -> Json:
    """The smallest patch that makes one object of the other."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: dict[str, Json] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = diff(before[key], value)
    return patch
