"""Store secrets that actions may use as {{secrets.NAME}}, and that nobody gets to see.

A secret belongs to the project, or with --workspace to all projects of its workspace; a project's own comes first. Its
value is read from standard input, typed at a prompt, or read from a file: never a part of the command line, which
other users of the machine can see. It is stored sealed with the key in WONDER_SECRET_KEY, or in the file `key` beside
the database (.wonder/key for PostgreSQL), which is made when it is first needed. Keep a copy of the key: without it
secrets can't be opened any more.

Definitions may use secrets only in what goes out: url, headers and body of http_request, env and stdin of
shell_command, env and headers of MCP servers, api_key, base_url and headers of models. Wherever a secret would be
shown (outputs, errors, logs), [secret NAME] stands instead.
"""

import asyncio
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path

from wonder.app import App, open_app
from wonder.cli.output import color, count, print_json, print_table
from wonder.cli.settings import add_database_option, database_setting
from wonder.storage.secret_keys import VARIABLE, KeySource, key_source
from wonder.storage.secrets import (
    LENGTH_MAX,
    Owner,
    SecretRefused,
    check_name,
    delete_secret,
    list_secrets,
    rotate,
    set_secret,
)


def configure(parser: ArgumentParser) -> None:
    """Take set, list, delete or rotate."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="set | list | delete | rotate")
    store = commands.add_parser("set", help="store a secret, from standard input or a prompt")
    store.add_argument("name", metavar="NAME", help="letters, digits and _, as in API_TOKEN")
    # Taken only to be refused without being shown once more.
    store.add_argument("on_command_line", nargs="*", help=SUPPRESS)
    store.add_argument("--from-file", metavar="FILE", help="take the content of a file, as it is, for the value")
    delete = commands.add_parser("delete", help="delete a secret for good")
    delete.add_argument("name", metavar="NAME")
    for command in (store, delete):
        scope = command.add_mutually_exclusive_group()
        for name, text in (("project", "the project's own (default)"), ("workspace", "all its workspace's projects'")):
            scope.add_argument(
                f"--{name}", action="store_const", const=name, dest="scope", default="project", help=text
            )
    listing = commands.add_parser("list", help="list names, never values")
    anew = commands.add_parser("rotate", help="make a new key, and seal all secrets with it")
    for command in (store, listing, delete, anew):
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    value = _value(given) if given.command == "set" else ""
    return asyncio.run(_run(given, value))


async def _run(given: Namespace, value: str) -> int:
    url = database_setting(given.db).value
    async with open_app(url, create=given.command == "set") as app:
        match given.command:
            case "set":
                await _set(app, key_source(url), given, value)
            case "list":
                await _list(app, given)
            case "delete":
                await delete_secret(app.store, _owner(app, given), given.name)
                _tell(given, f"the secret {given.name} was deleted", {"name": given.name, "scope": given.scope})
            case "rotate":
                await _rotate(app, key_source(url), given)
    return 0


async def _set(app: App, keys: KeySource, given: Namespace, value: str) -> None:
    owner = _owner(app, given)
    is_new = await set_secret(app.store, keys, owner, given.name, value, clock=app.clock, new_id=app.new_id)
    state = "new" if is_new else "changed"
    shown = {"name": given.name, "scope": given.scope, "new": is_new}
    _tell(
        given, f"{given.name} ({state}), a secret of the {given.scope}; use it as {{{{secrets.{given.name}}}}}", shown
    )


async def _list(app: App, given: Namespace) -> None:
    found = await list_secrets(app.store, app.home.project_id)
    if given.json:
        rows = [
            {"name": one.name, "scope": one.owner.scope, "created_at": one.created_at, "updated_at": one.updated_at}
            for one in found
        ]
        print_json({"secrets": rows})
    elif not found:
        print("no secrets yet; `wonder secrets set NAME` stores one")
    else:
        print_table(
            ["NAME", "SCOPE", "STORED", "CHANGED"],
            [[one.name, one.owner.scope, one.created_at[:19], one.updated_at[:19]] for one in found],
        )


async def _rotate(app: App, keys: KeySource, given: Namespace) -> None:
    number = await rotate(app.store, keys)
    shown = {"sealed": number, "key": keys.where}
    if number or keys.is_file:
        _tell(given, f"{count(number, 'secret')} sealed anew, with the key in {keys.where}", shown)
    else:
        hint = f"to change it, give {VARIABLE}=NEW,OLD and rotate again (openssl rand -base64 32 makes a key)"
        _tell(given, f"all secrets are sealed with the first key of {VARIABLE} already; {hint}", shown)


def _owner(app: App, given: Namespace) -> Owner:
    if given.scope == "workspace":
        return Owner("workspace", app.home.workspace_id)
    return Owner("project", app.home.project_id)


def _tell(given: Namespace, text: str, shown: dict[str, object]) -> None:
    if given.json:
        print_json(shown)
    else:
        print(f"{color('good', '✓')} {text}")


def _value(given: Namespace) -> str:
    """Read the value of a secret; refused before anybody types one for a name that can't be."""
    check_name(given.name)
    if given.on_command_line:
        reason = "a value on the command line is seen by other users, and kept in the shell's history"
        raise SecretRefused(f"{reason}; change it if it is in use, and pipe it in or use --from-file")
    if given.from_file:
        try:
            with Path(given.from_file).open("rb") as file:
                return _decoded(file.read(4 * LENGTH_MAX + 1))
        except OSError as error:
            raise SecretRefused(f"{given.from_file} can't be read: {error.strerror or error}") from None
    if sys.stdin is None:
        raise SecretRefused("standard input is closed; pipe the value in, or use --from-file")
    if sys.stdin.isatty():
        from getpass import getpass  # only here is there somebody to be asked

        try:
            return getpass(f"value of {given.name} (not shown): ")
        except EOFError:
            raise SecretRefused("no value was typed; nothing was stored") from None
    text = _decoded(sys.stdin.buffer.read(4 * LENGTH_MAX + 1))
    # What `echo` adds is not meant; a file's last line break may be.
    return text.removesuffix("\n").removesuffix("\r")


def _decoded(value: bytes) -> str:
    if len(value) > 4 * LENGTH_MAX:
        raise SecretRefused(f"the value is too long; {LENGTH_MAX:,} characters is the limit")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise SecretRefused("a secret is a text in UTF-8; encode other bytes, with base64 for instance") from None
