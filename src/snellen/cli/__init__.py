"""The command line: verbs only, no logic."""


def main() -> None:
    """Run the command line."""
