"""Settings of the command line: a flag, then the environment, then wonder.toml, then the default (SPEC 13)."""

import os
import tomllib
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from wonder.errors import WonderError

DEFAULT_DATABASE = "sqlite:///.wonder/wonder.db"
VARIABLE = "WONDER_DATABASE_URL"
OBJECTS_VARIABLE = "WONDER_OBJECTS_URL"
FILE = "wonder.toml"
_NAMES = frozenset({"database_url", "objects_url"})  # all that FILE may hold


class BadSettings(WonderError):
    """The settings file can't be used."""

    code = "BAD_SETTINGS"


@dataclass(frozen=True)
class Setting:
    """A value, and where it came from."""

    value: str
    origin: str


def add_database_option(parser: ArgumentParser) -> None:
    """Let a command be told which database to use."""
    parser.add_argument(
        "--db", metavar="URL", help=f"the database (default: {VARIABLE}, wonder.toml, or .wonder/wonder.db)"
    )


def add_objects_option(parser: ArgumentParser) -> None:
    """Let a command be told where the content of artifacts is."""
    parser.add_argument(
        "--objects",
        metavar="URL",
        help="where artifacts are, file:///folder or s3://bucket/prefix "
        f"(default: {OBJECTS_VARIABLE}, wonder.toml, or beside the database)",
    )


def objects_setting(flag: str | None) -> str | None:
    """Find where the content of artifacts is; None if nobody has said."""
    found = objects_origin(flag)
    return None if found.origin == "default" else found.value


def objects_origin(flag: str | None) -> Setting:
    """Say where the content of artifacts is, and who has said so."""
    if flag:
        return Setting(flag, "--objects")
    if from_environment := os.environ.get(OBJECTS_VARIABLE):
        return Setting(from_environment, OBJECTS_VARIABLE)
    if from_file := _from_file("objects_url"):
        return Setting(from_file, FILE)
    return Setting("beside the database", "default")


def database_setting(flag: str | None) -> Setting:
    """Find the database that is meant."""
    if flag:
        return Setting(flag, "--db")
    if from_environment := os.environ.get(VARIABLE):
        return Setting(from_environment, VARIABLE)
    if from_file := _from_file("database_url"):
        return Setting(from_file, FILE)
    return Setting(DEFAULT_DATABASE, "default")


def _from_file(name: str) -> str | None:
    path = Path(FILE)
    if not path.is_file():
        return None
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"{FILE} can't be read: {error}") from None
    except RecursionError:
        raise BadSettings(f"{FILE} can't be read: it is nested too deeply") from None
    if unknown := sorted(settings.keys() - _NAMES):
        known = ", ".join(sorted(_NAMES))
        raise BadSettings(f"there is no setting '{unknown[0]}', which {FILE} has; correct it to one of: {known}")
    value = settings.get(name)
    if value is not None and not isinstance(value, str):
        raise BadSettings(f"'{name}' in {FILE} must be a text, such as \"{DEFAULT_DATABASE}\"")
    return value
