"""Create, list and revoke API keys, with which programs and people use a server.

  wonder keys create --role admin                             a key for the whole server, such as the first one
  wonder keys create --role operator --workspace acme --name ci --expires 90d

A key is printed once, when it is created; only a hash of it is stored. It has a role, and each role includes those
before it: viewer (reads), operator (also starts, answers and steers runs), author (also deploys), admin (also settings,
secrets and keys). It is valid for the whole server, or for one workspace or project if one is named. A revoked key is
rejected from the next request on. Everybody who can write to the database can create keys here.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app.application import Application
from wonder.app.callers import REACHES, ROLES, Reach
from wonder.cli.moments import duration
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_command, add_json_option, add_page_options
from wonder.operations.keys import (
    CreateKey,
    KeyRecord,
    ListKeys,
    RevokeKey,
    create_key,
    list_keys,
    revoke_key,
)


def configure(parser: ArgumentParser) -> None:
    """Take create, list or revoke."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="create | list | revoke")
    create = add_command(commands, "create", "create a key, and print it this once")
    create.add_argument("--role", choices=ROLES, required=True, help="what the key may do")
    create.add_argument("--name", metavar="TEXT", help="whose it is, or what for; shown as the author of changes")
    create.add_argument(
        "--scope",
        choices=REACHES,
        help="where it is valid (default: the project or workspace that is named, otherwise the whole server)",
    )
    create.add_argument(
        "--expires", metavar="DURATION", type=duration, help="how long it is valid: 12h, 90d (default: for ever)"
    )
    listing = add_command(commands, "list", "list keys, oldest first, never their secrets")
    listing.add_argument("--revoked", action="store_true", help="list revoked keys too")
    add_page_options(listing)
    revoke = add_command(commands, "revoke", "revoke a key for good; no process accepts it from then on")
    revoke.add_argument("prefix", metavar="PREFIX", help="how the key begins, as in wonder_1a2b3c4d, or its id alone")
    revoke.add_argument(
        "--with-made", action="store_true", help="also revoke the keys that were created with it, and with these"
    )
    for command in (create, listing, revoke):
        add_json_option(command)
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(
        database_setting(given.db).value, create=given.command == "create", **tenant_setting(given)
    ) as app:
        await _DOES[given.command](app, given)
    return 0


async def _create(app: Application, given: Namespace) -> None:
    named = tenant_setting(given)
    scope: Reach = given.scope or ("project" if named["project"] else "workspace" if named["workspace"] else "server")
    asked = CreateKey(role=given.role, name=given.name, scope=scope, expires_seconds=given.expires)
    created = await create_key(app, asked)
    if given.json:
        print_output(created)
        return
    record = created.record
    until = f", until {record.expires_at[:16]}Z" if record.expires_at else ""
    print(f"{color('good', '✓')} key {color('bold', visible(record.name))}: {record.role}, {_scope(record)}{until}")
    print(created.key)
    print("  copy it now: it is not shown again, and can't be read from the database")


async def _list(app: Application, given: Namespace) -> None:
    page = await list_keys(app, ListKeys(revoked=given.revoked, limit=given.limit, cursor=given.cursor))
    if given.json:
        print_output(page)
    elif not page.keys:
        print("no keys yet; `wonder keys create --role admin` creates one")
    else:
        print_table(
            ["PREFIX", "NAME", "ROLE", "SCOPE", "STATE", "CREATED", "BY", "EXPIRES", "LAST USED"],
            [
                [
                    one.prefix,
                    one.name,
                    one.role,
                    _scope(one),
                    one.state,
                    one.created_at[:10],
                    f"{one.created_by} ({one.created_by_key})" if one.created_by_key else one.created_by,
                    (one.expires_at or "never")[:10],
                    (one.last_used_at or "never")[:16],
                ]
                for one in page.keys
            ],
        )
        if page.cursor:
            print(f"more: wonder keys list --cursor {page.cursor}")


async def _revoke(app: Application, given: Namespace) -> None:
    revoked = await revoke_key(app, RevokeKey(key=given.prefix, with_made=given.with_made))
    if given.json:
        print_output(revoked)
        return
    for one in revoked.keys:
        print(f"{color('good', '✓')} key {color('bold', visible(one.name))} ({one.prefix}) revoked")


def _scope(record: KeyRecord) -> str:
    if record.project:
        return f"project {record.workspace}/{record.project}"
    return f"workspace {record.workspace}" if record.workspace else "whole server"


_DOES = {"create": _create, "list": _list, "revoke": _revoke}
