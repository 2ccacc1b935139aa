"""Put every order back to the rollback point: python rollback.py FOLDER, as prepare.py made it."""

import sys
from pathlib import Path

import psycopg

UNDO = """
UPDATE shop.orders o SET currency = b.currency, revision = o.revision + 1
FROM shop.orders_before b WHERE b.id = o.id AND b.currency <> o.currency
"""


def main() -> None:
    """Undo in one transaction, and say how many rows that were."""
    login = Path(sys.argv[1], "secrets", "orders_write").read_text()
    with psycopg.connect(login) as connection:
        print(f"{connection.execute(UNDO).rowcount} orders are as they were")


if __name__ == "__main__":
    main()
