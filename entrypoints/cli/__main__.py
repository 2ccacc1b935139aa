"""`python -m checkrein.entrypoints.cli`: the same as the command `checkrein`."""

from checkrein.entrypoints.cli import main

if __name__ == "__main__":
    main()
