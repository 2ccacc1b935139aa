"""`python -m checkrein.testing.payment_server --folder DIR [--port 0]`."""

import argparse
import asyncio
from pathlib import Path

from checkrein.testing.payment_server.server import serve


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="checkrein.testing.payment_server", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where its database lies")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    given = parser.parse_args()
    asyncio.run(serve(given.folder, given.port))


if __name__ == "__main__":
    main()
