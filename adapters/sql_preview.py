"""What a change of one row looks like to people: statement, values as data, and how many rows."""

import json
from typing import Any

from checkrein.adapters.sql_row import Row
from checkrein.contracts.display import shown
from checkrein.contracts.folding import folded_line
from checkrein.contracts.secrets import masked

_MAX_VALUE = 2_000


class _Number(str):
    """A number as the database writes it; Python would round some."""


def preview(table: str, key_column: str, row: Row, *, same: bool) -> str:
    """The statement with a place for each value, each value before and after, and how many rows.

    The count is no estimate: the row was found under its key, by the query that this is made of.
    What looks like a credential is masked.
    """
    if same:
        return f"{table} {shown(row.key)}: it is so already; no row changes."
    before, after = _read(row.text), _read(row.after)
    changed = [name for name in after if before[name] != after[name]]
    old, new = masked(before)[0], masked(after)[0]
    sets = ", ".join(f"{name} = ${place}" for place, name in enumerate(changed, start=1))
    key = f"${len(changed) + 1}"
    return "\n".join(
        [
            " ".join(["UPDATE", table, "SET", sets, "WHERE", key_column, "=", key]),
            *(
                f"  ${place} {name}: {_shown(old[name])} -> {_shown(new[name])}"
                for place, name in enumerate(changed, start=1)
            ),
            f"  {key} {key_column}: {_shown(row.key)}",
            "rows: 1, counted now under this key; it changes only while it is as shown here",
        ]
    )


def _read(text: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(text, parse_float=_Number, parse_int=_Number)
    return read


def _shown(value: Any) -> str:
    text = value if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)
    return folded_line(shown(text), _MAX_VALUE)
