"""Settings of the command line: a flag, then the environment, then wonder.toml, then the default (CMD-2)."""

import os
import tomllib
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from wonder.app.given_files import FileTooLarge, read_given_file
from wonder.errors import WonderError

DEFAULT_DATABASE = "sqlite:///.wonder/wonder.db"
VARIABLE = "WONDER_DATABASE_URL"
OBJECTS_VARIABLE = "WONDER_OBJECTS_URL"
MODULES_VARIABLE = "WONDER_MODULES"
READER_VARIABLE = "WONDER_READER_URL"
WORKSPACE_VARIABLE = "WONDER_WORKSPACE"
PROJECT_VARIABLE = "WONDER_PROJECT"
SERVER_VARIABLE = "WONDER_SERVER"
KEY_VARIABLE = "WONDER_API_KEY"
KEY_FILE_VARIABLE = "WONDER_API_KEY_FILE"
FILE = "wonder.toml"
_NAMES = frozenset(
    {"database_url", "host", "modules", "objects_url", "port", "project", "reader_url", "server", "workspace"}
    | {"max_body_bytes", "requests_at_once", "requests_per_second"}
)  # all that FILE may hold
# tomllib takes quadratic time for a key of very many parts: about a second for this size.
FILE_BYTES_MAX = 20_000


class BadSettings(WonderError):
    """The settings file can't be used."""

    code = "BAD_SETTINGS"


@dataclass(frozen=True)
class Setting:
    """A value, and where it came from."""

    value: str
    origin: str


def add_database_option(parser: ArgumentParser) -> None:
    """Add the option that names the database."""
    parser.add_argument(
        "--db", metavar="URL", help=f"use this database (default: {VARIABLE}, wonder.toml, or .wonder/wonder.db)"
    )


def add_project_options(parser: ArgumentParser) -> None:
    """Add the options that name the database, and in it the workspace and the project."""
    add_database_option(parser)
    for name, variable in (("workspace", WORKSPACE_VARIABLE), ("project", PROJECT_VARIABLE)):
        parser.add_argument(
            f"--{name}", metavar="NAME", help=f"use this {name} (default: {variable}, wonder.toml, or 'default')"
        )


class Tenant(TypedDict):
    """The workspace and the project to use, by name or id; None is the default."""

    workspace: str | None
    project: str | None


def tenant_setting(given: Namespace) -> Tenant:
    """Return the workspace and the project to use."""
    found = tenant_origins(given)
    workspace, project = (None if one.origin == "default" else one.value for one in found.values())
    return Tenant(workspace=workspace, project=project)


def tenant_origins(given: Namespace) -> dict[str, Setting]:
    """Return the workspace and the project to use, and the origin of each setting."""
    return {
        "workspace": _tenant("workspace", given.workspace, WORKSPACE_VARIABLE),
        "project": _tenant("project", given.project, PROJECT_VARIABLE),
    }


def setting_of(name: str, flag: str | int | None, variable: str, default: str | int) -> tuple[Any, str]:
    """Return a setting and its origin: its flag, its variable, the settings file, or the default."""
    if flag is not None:
        return flag, f"--{name.replace('_', '-')}"
    if from_environment := os.environ.get(variable):
        return from_environment, variable
    from_file = _settings_of_file().get(name)
    return (default, "default") if from_file is None else (from_file, FILE)


def _tenant(name: str, flag: str | None, variable: str) -> Setting:
    if flag:
        return Setting(flag, f"--{name}")
    if from_environment := os.environ.get(variable):
        return Setting(from_environment, variable)
    value = _settings_of_file().get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise BadSettings(f"'{name}' in {FILE} must be the name of a {name}, such as \"orders\"")
    return Setting(value, FILE) if value else Setting("default", "default")


def add_objects_option(parser: ArgumentParser) -> None:
    """Add the option that says where the content of artifacts is stored."""
    parser.add_argument(
        "--objects",
        metavar="URL",
        help="use this object store for the content of artifacts: file:///folder or s3://bucket/prefix "
        f"(default: {OBJECTS_VARIABLE}, wonder.toml, or a folder next to the database)",
    )


def add_modules_option(parser: ArgumentParser) -> None:
    """Add the option that names the modules whose functions `python` actions may call."""
    parser.add_argument(
        "--module",
        action="append",
        metavar="NAME",
        help="let python actions call functions of this module: those with @wonder.function, or in __all__; "
        f"can be repeated (default: {MODULES_VARIABLE}, separated by commas, or `modules` in wonder.toml)",
    )


def modules_setting(flags: list[str] | None) -> list[str]:
    """Return the modules whose functions `python` actions may call."""
    return _modules(flags)[0]


def modules_origin(flags: list[str] | None = None) -> Setting:
    """Return the modules whose functions `python` actions may call, and the origin of the setting."""
    modules, origin = _modules(flags)
    return Setting(", ".join(modules) or "none", origin)


def _modules(flags: list[str] | None) -> tuple[list[str], str]:
    if flags:
        return _module_names(flags, "--module"), "--module"
    if from_environment := os.environ.get(MODULES_VARIABLE):
        names = [name.strip() for name in from_environment.split(",")]
        return _module_names(names, MODULES_VARIABLE), MODULES_VARIABLE
    from_file = _settings_of_file().get("modules")
    if from_file is None:
        return [], "default"
    if not isinstance(from_file, list) or not all(isinstance(name, str) for name in from_file):
        raise BadSettings(f"'modules' in {FILE} must be a list of module names, such as [\"orders\"]")
    return _module_names(from_file, FILE), FILE


def _module_names(names: list[str], origin: str) -> list[str]:
    for name in names:
        if not all(part.isidentifier() and not part.startswith("_") for part in name.split(".")):
            raise BadSettings(
                f"{name!r} in {origin} is not a valid module name; write a name such as "
                "orders or shop.orders, without .py and without parts that begin with an underscore"
            )
    return names


def objects_setting(flag: str | None) -> str | None:
    """Return where the content of artifacts is stored; None if it is not set."""
    found = objects_origin(flag)
    return None if found.origin == "default" else found.value


def objects_origin(flag: str | None) -> Setting:
    """Return where the content of artifacts is stored, and the origin of the setting."""
    if flag:
        return Setting(flag, "--objects")
    if from_environment := os.environ.get(OBJECTS_VARIABLE):
        return Setting(from_environment, OBJECTS_VARIABLE)
    if from_file := _from_file("objects_url"):
        return Setting(from_file, FILE)
    return Setting("next to the database", "default")


def server_setting() -> Setting | None:
    """Return the server that commands are sent to; None if they work on a database themselves."""
    if from_environment := os.environ.get(SERVER_VARIABLE):
        return Setting(from_environment, SERVER_VARIABLE)
    value = _settings_of_file().get("server")
    if value is None:
        return None
    if not isinstance(value, str) or not is_server(value):
        raise BadSettings(f"'server' in {FILE} must be the address of a server, such as \"https://wonder.example.com\"")
    return Setting(value, FILE)


def goes_to_server(given: Namespace) -> bool:
    """Say whether a command is sent to a server; nothing is loaded to find that out."""
    return is_server(given.db) if given.db else server_setting() is not None


def is_server(url: str) -> bool:
    """Say whether this is the address of a server, and not of a database."""
    return url.lower().startswith(("http://", "https://"))


def database_setting(flag: str | None) -> Setting:
    """Return the database to use, or the server where one is set and no database is named by a flag.

    Raises NotYourDatabase for a database in this folder that this user has not made.
    """
    if not flag and (server := server_setting()):
        return server
    found = found_database(flag)
    if found.origin in ("default", FILE):
        # Imported here, because it loads the database driver, which `--help` does not need.
        from wonder.cli.trusting import check_not_linked, check_own

        if found.origin == "default":
            check_not_linked(found.value)
        check_own(found.value)
    return found


def found_database(flag: str | None) -> Setting:
    """Return the database to use, without checking who made it."""
    if flag:
        return Setting(flag, "--db")
    if from_environment := os.environ.get(VARIABLE):
        return Setting(from_environment, VARIABLE)
    if from_file := _from_file("database_url"):
        return Setting(from_file, FILE)
    return Setting(DEFAULT_DATABASE, "default")


def reader_setting(flag: str | None) -> Setting:
    """Return the database for queries: with the read-only role, if its URL is set; or the server."""
    return (None if flag or server_setting() else reader_url()) or database_setting(flag)


def reader_url() -> Setting | None:
    """Return the URL of the read-only role; None if it is not set."""
    if from_environment := os.environ.get(READER_VARIABLE):
        return Setting(from_environment, READER_VARIABLE)
    from_file = _from_file("reader_url")
    return Setting(from_file, FILE) if from_file else None


def _from_file(name: str) -> str | None:
    value = _settings_of_file().get(name)
    if value is not None and not isinstance(value, str):
        raise BadSettings(f"'{name}' in {FILE} must be a string, such as \"{DEFAULT_DATABASE}\"")
    return value


def _settings_of_file() -> dict[str, Any]:
    path = Path(FILE)
    if not path.is_file():
        return {}
    try:
        return parse_settings(read_given_file(path, FILE_BYTES_MAX))
    except FileTooLarge as error:
        raise BadSettings(f"{error}; it should contain only settings") from None
    except OSError as error:
        raise BadSettings(f"{FILE} can't be read: {error}") from None


def parse_settings(content: bytes) -> dict[str, Any]:
    """Parse the content of wonder.toml; raises BadSettings."""
    try:
        settings = tomllib.loads(content.decode("utf-8"))
    except ValueError as error:  # not UTF-8, not TOML, or an integer of thousands of digits
        raise BadSettings(f"{FILE} can't be read: {error}") from None
    except RecursionError:
        raise BadSettings(f"{FILE} can't be read: it is nested too deeply") from None
    if unknown := sorted(settings.keys() - _NAMES):
        known = ", ".join(sorted(_NAMES))
        raise BadSettings(f"{FILE} has an unknown setting '{unknown[0]}'; the settings are: {known}")
    return settings
