"""The command line. `main` is the entry point; nothing heavy is imported before it is needed."""


def main() -> None:
    """Run the command that the arguments name, and leave with its exit code."""
    import sys

    from checkrein.entrypoints.cli.app import run_command_line

    sys.exit(run_command_line(sys.argv[1:]))
