"""Print the SQL that puts checkrein.contracts.transitions into the database, for a migration."""

from checkrein.contracts.transitions import TABLES


def main() -> None:
    """Write one INSERT with every row, in a stable order."""
    rows = [
        f"    ('{machine}', '{current}', '{event}', '{after}')"
        for machine, table in TABLES.items()
        for (current, event), after in sorted(table.items())
    ]
    print("-- Written by scripts/transitions.py from checkrein.contracts.transitions.")
    print("INSERT INTO transitions (machine, current, event, next) VALUES")
    print(",\n".join(rows) + ";")


if __name__ == "__main__":
    main()
