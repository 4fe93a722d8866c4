"""The help of every command: nothing is without a description, and one word means one thing."""

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from importlib import import_module

import pytest

from wonder.cli.main import COMMANDS


def parsers(name: str) -> Iterator[ArgumentParser]:
    """Give the parser of a command and those of its subcommands."""
    command = import_module(f"wonder.cli.{name.replace('-', '_')}")
    parser = ArgumentParser(prog=f"wonder {name}", description=command.__doc__)
    command.configure(parser)
    yield parser
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            yield from action.choices.values()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_of_a_command_has_help(name: str) -> None:
    for parser in parsers(name):
        bare = [action.dest for action in parser._actions if not action.help]
        assert [dest for dest in bare if dest != "command"] == [], parser.prog
        assert all(action.help == SUPPRESS or "%" not in (action.help or "") for action in parser._actions)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_indented_so_that_they_differ_from_sentences(name: str) -> None:
    for parser in parsers(name):
        lines = (parser.description or "").splitlines()
        assert [line for line in lines if line.startswith("wonder ")] == [], parser.prog


def test_an_option_takes_the_same_thing_in_every_command() -> None:
    meanings: dict[str, dict[str, str]] = {}
    for name in COMMANDS:
        for parser in parsers(name):
            for action in parser._actions:
                for option in action.option_strings:
                    if action.nargs != 0 and not action.choices:
                        metavar = str(action.metavar or action.dest.upper())
                        meanings.setdefault(option, {})[metavar] = parser.prog
    differing = {option: found for option, found in meanings.items() if len(found) > 1}
    # A metric has no moment that it began at: it is shown over a length of time.
    assert set(differing.pop("--since")) == {"TIME", "DURATION"}
    assert differing == {}
