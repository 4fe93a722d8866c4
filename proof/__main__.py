"""`python -m proof KIND [OPTION…]`: break one kind of thing many times; exit status 1 if anything was violated."""

import sys
from importlib import import_module
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run the module of this package that is named for the kind of fault, and give the exit status."""
    kinds = [path.stem for path in sorted(Path(__file__).parent.glob("*.py")) if "\ndef main(" in path.read_text()]
    kinds.remove("__main__")
    if not arguments or arguments[0] not in kinds:
        print(f"usage: python -m proof {{{','.join(kinds)}}} [--count N] [--seed S]", file=sys.stderr)
        return 2
    status: int = import_module(f"proof.{arguments[0]}").main(arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
