"""The `wonder` command."""


def main() -> None:
    """Run the command line."""
