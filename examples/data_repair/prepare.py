"""Make the database of this example: orders with broken currencies, and a rollback point.

    python prepare.py FOLDER [--database URL]

Without a URL it starts an embedded Postgres in FOLDER. FOLDER/secrets then holds the two logins:
`orders_read`, which the verifier is lent, and `orders_write`, by which the capability works.
"""

import argparse
import asyncio
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from checkrein.compose import embedded_server

SCHEMA = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (
    id bigint PRIMARY KEY, customer text NOT NULL, cents bigint NOT NULL,
    currency text NOT NULL, revision bigint NOT NULL DEFAULT 1);
INSERT INTO shop.orders (id, customer, cents, currency) VALUES
    (1, 'Brandt', 1250, 'EUR'), (2, 'Castro', 990, 'eur'), (3, 'Dunn', 4000, 'USD'),
    (4, 'Evers', 700, 'E'), (5, 'Fabre', 125, 'EUR');
-- The rollback point: what every row was before anybody repaired anything.
CREATE TABLE shop.orders_before AS TABLE shop.orders;
DO $$ BEGIN
    CREATE ROLE shop_reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN
    CREATE ROLE shop_writer LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT USAGE ON SCHEMA shop TO shop_reader, shop_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO shop_reader, shop_writer;
GRANT UPDATE ON shop.orders TO shop_writer;
"""


def main() -> None:
    """Read the arguments and make it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", help="a database of yours, as a user who may make roles")
    given = parser.parse_args()
    url = given.database or asyncio.run(embedded_server.started(given.folder)).login
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEMA)
    secrets = given.folder / "secrets"
    secrets.mkdir(mode=0o700, parents=True)
    for name, role in (("orders_read", "shop_reader"), ("orders_write", "shop_writer")):
        file = secrets / name
        file.touch(mode=0o600)
        file.write_text(make_conninfo(url, user=role))
    print(f"export CHECKREIN_SECRETS={secrets.absolute()}")
    print("export CHECKREIN_CAPABILITIES=repair_shop:capabilities")


if __name__ == "__main__":
    main()
