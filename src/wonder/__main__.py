"""`python -m wonder`: the command line, where the command `wonder` is not on the path."""

from wonder.cli.main import entry

if __name__ == "__main__":
    entry()
