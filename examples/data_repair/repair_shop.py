"""orders.set: one order's currency, swapped from the version that was approved."""

import os
from pathlib import Path

from checkrein.adapters.sql_target import RowDeclaration, SqlRow

_LOGIN = Path(os.environ["CHECKREIN_SECRETS"], "orders_write").read_text().strip()

capabilities = [
    SqlRow(
        RowDeclaration(
            name="orders.set",
            description="Set the currency of one order, named by its id.",
            table="shop.orders",
            key_column="id",
            columns={"currency": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            version_column="revision",
        ),
        _LOGIN,
    )
]
