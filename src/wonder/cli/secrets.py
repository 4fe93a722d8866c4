"""Store secrets, such as API keys and passwords, which actions use as {{secrets.NAME}}. Values are never shown.

  wonder secrets set API_TOKEN --for-host api.example.com          asks for the value
  wonder secrets set API_TOKEN --for-host api.example.com < file   reads it from standard input

A secret belongs to the project, or with --all-projects to all projects of the workspace; the project's secret is used
if both exist. The value is typed at a prompt, or read from standard input or a file. It can't be given on the command
line, which other users of the machine can see. It is encrypted with the key in WONDER_SECRET_KEY, or in the file `key`
next to the database (.wonder/key for PostgreSQL), which is created when it is first needed. Keep a copy of the key:
without it, no secret can be decrypted.

The scope of a secret says where it can be sent: to hosts (--for-host), MCP servers (--for-server), programs
(--for-program) and kinds of action (--for-kind). --for-workflow limits it to some workflows; the default is all. Any
other use is rejected. A secret without a scope can be used by `wonder run`, with a warning, but not by long-running
processes.

Definitions can use secrets in these fields only: url, headers and body of http_request; env and stdin of shell_command;
env and headers of MCP servers; api_key, base_url and headers of models. In outputs, errors and logs a secret is
replaced by [secret NAME].
"""

import asyncio
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from wonder.app.application import Application
from wonder.cli.opening import open_app
from wonder.cli.output import color, count, print_output, print_table
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_command, add_json_option
from wonder.operations.declaring import NoInput
from wonder.operations.outputs import Output
from wonder.operations.secrets import (
    LENGTH_MAX,
    VARIABLE,
    Destinations,
    OneSecret,
    SecretRefused,
    SetSecret,
    check_name,
    delete_secret,
    list_secrets,
    rotate_key,
    set_scope,
    set_secret,
)

_OPTIONS = (
    ("host", "HOST", "allow this host: api.example.com, api.example.com:8443 or *.example.com; can be repeated"),
    ("server", "NAME", "allow this MCP server, one that is started as a command; can be repeated"),
    ("program", "PATH", "allow this program in shell_command, by its path, as in /usr/bin/rsync; can be repeated"),
    ("kind", "KIND", "allow actions of this kind, one that an installed package adds; can be repeated"),
    ("workflow", "NAME", "allow only this workflow of the project; can be repeated"),
)


def configure(parser: ArgumentParser) -> None:
    """Take set, scope, list, delete or rotate."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="set | scope | list | delete | rotate")
    store = add_command(commands, "set", "store a secret; its value is read from a prompt, standard input or a file")
    store.add_argument("name", metavar="NAME", help="the name: letters, digits and _, as in API_TOKEN")
    # Accepted only to be rejected without printing the value again.
    store.add_argument("on_command_line", nargs="*", help=SUPPRESS)
    store.add_argument("--from-file", metavar="FILE", help="read the value from a file, unchanged")
    scoped = add_command(commands, "scope", "change the scope of a secret, and keep its value")
    scoped.add_argument("name", metavar="NAME", help="the name of the secret")
    for command in (store, scoped):
        for option, metavar, text in _OPTIONS:
            command.add_argument(f"--for-{option}", metavar=metavar, action="append", default=[], help=text)
    delete = add_command(commands, "delete", "delete a secret")
    delete.add_argument("name", metavar="NAME", help="the name of the secret")
    for command in (store, scoped, delete):
        command.add_argument(
            "--all-projects",
            action="store_const",
            const="workspace",
            dest="scope",
            default="project",
            help="use the secret of the workspace, which all of its projects share (default: that of the project)",
        )
    listing = add_command(commands, "list", "list the names and scopes of all secrets, never their values")
    rotate = add_command(commands, "rotate", "create a new encryption key, and encrypt all secrets with it")
    for command in (store, scoped, listing, delete, rotate):
        add_json_option(command)
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    value = _value(given) if given.command == "set" else ""
    return asyncio.run(_run(given, value))


async def _run(given: Namespace, value: str) -> int:
    async with open_app(
        database_setting(given.db).value, create=given.command == "set", **tenant_setting(given)
    ) as app:
        await _DOES[given.command](app, given, value)
    return 0


async def _set(app: Application, given: Namespace, value: str) -> None:
    stored = await set_secret(app, SetSecret(**_destinations(given), value=value))
    state = "new" if stored.new else "changed"
    told = f"{stored.name} ({state}), a secret of the {stored.scope}; use it as {{{{secrets.{stored.name}}}}}"
    _tell(given, told, stored)
    if stored.unscoped and not given.json:
        print(
            "  it has no scope, so long-running processes can't use it; set one: "
            f"wonder secrets scope {given.name} --for-host HOST"
        )


async def _scope(app: Application, given: Namespace, _value: str) -> None:
    scoped = await set_scope(app, Destinations(**_destinations(given)))
    _tell(given, f"{scoped.name}, a secret of the {scoped.scope}, has the scope {scoped.options}", scoped)


async def _list(app: Application, given: Namespace, _value: str) -> None:
    found = await list_secrets(app, NoInput())
    if given.json:
        print_output(found)
    elif not found.secrets:
        print("no secrets yet; `wonder secrets set NAME` stores one")
    else:
        print_table(
            ["NAME", "OF", "STORED", "CHANGED", "SCOPE"],
            [
                [
                    one.name,
                    one.scope,
                    one.created_at[:19],
                    one.updated_at[:19],
                    one.options or "none (wonder run only)",
                ]
                for one in found.secrets
            ],
        )


async def _delete(app: Application, given: Namespace, _value: str) -> None:
    deleted = await delete_secret(app, OneSecret(name=given.name, scope=given.scope))
    _tell(given, f"the secret {given.name} was deleted", deleted)


async def _rotate(app: Application, given: Namespace, _value: str) -> None:
    rotated = await rotate_key(app, NoInput())
    if rotated.sealed or rotated.key_is_file:
        _tell(given, f"{count(rotated.sealed, 'secret')} encrypted with the new key in {rotated.key}", rotated)
    else:
        hint = f"to change the key, set {VARIABLE}=NEW,OLD and rotate again (openssl rand -base64 32 creates a key)"
        _tell(given, f"all secrets are already encrypted with the first key of {VARIABLE}; {hint}", rotated)


def _destinations(given: Namespace) -> dict[str, Any]:
    names = ("name", "scope", "for_host", "for_server", "for_program", "for_kind", "for_workflow")
    return {name: getattr(given, name) for name in names}


def _tell(given: Namespace, text: str, output: Output) -> None:
    if given.json:
        print_output(output)
    else:
        print(f"{color('good', '✓')} {text}")


def _value(given: Namespace) -> str:
    """Read the value of a secret; an invalid name is rejected before the value is asked for."""
    check_name(given.name)
    if given.on_command_line:
        reason = "other users can see a value on the command line, and the shell keeps it in its history"
        raise SecretRefused(f"{reason}; replace that secret if it is in use, then pipe the value in or use --from-file")
    if given.from_file:
        try:
            with Path(given.from_file).open("rb") as file:
                return _decoded(file.read(4 * LENGTH_MAX + 1))
        except OSError as error:
            raise SecretRefused(f"{given.from_file} can't be read: {error.strerror or error}") from None
    if sys.stdin is None:
        raise SecretRefused("standard input is closed; pipe the value in, or use --from-file")
    if sys.stdin.isatty():
        from getpass import getpass  # needed only on a terminal

        try:
            return getpass(f"value of {given.name} (not shown): ")
        except EOFError:
            raise SecretRefused("no value was typed; nothing was stored") from None
    text = _decoded(sys.stdin.buffer.read(4 * LENGTH_MAX + 1))
    # `echo` adds a line break that is not part of the value; in a file it may be.
    return text.removesuffix("\n").removesuffix("\r")


def _decoded(value: bytes) -> str:
    if len(value) > 4 * LENGTH_MAX:
        raise SecretRefused(f"the value is too long; {LENGTH_MAX:,} characters is the limit")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise SecretRefused("the value is not UTF-8; encode binary values, for example with base64") from None


_DOES = {"set": _set, "scope": _scope, "list": _list, "delete": _delete, "rotate": _rotate}
