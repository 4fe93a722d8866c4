"""The commands `list` and `show` of what a project has under names; tasks, prompts, models and others share them."""

import asyncio
import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

import yaml

from wonder.app.application import Application
from wonder.cli.opening import open_app
from wonder.cli.output import color, count, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_archived_option, add_command, add_json_option, add_page_options
from wonder.operations.archiving import Archived, OneNamed
from wonder.operations.stored import ListStored, ListTagged, ShowStored, Stored, StoredDetails, StoredPage

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_DESCRIPTION_MAX = 60


class StoredCommands:
    """`wonder THINGS list`, and `wonder THINGS show | archive | restore NAME`."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored

    def configure(self, parser: ArgumentParser) -> None:
        """Take one of the commands."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="list | show | archive | restore")
        self.add_to(commands)

    def add_to(self, commands: "_SubParsersAction[ArgumentParser]") -> None:
        """Add all to the commands that there are."""
        noun = self.stored.noun
        plural = f"{noun}es" if noun.endswith("x") else f"{noun}s"
        listing = add_command(commands, "list", f"list the {plural} of the project")
        add_filter_options(listing, has_tags=self.stored.has_tags)
        show = add_command(
            commands, "show", f"show {'an' if noun[0] in 'aeiou' else 'a'} {noun}: its definition and what uses it"
        )
        metavar = "[LIBRARY/]NAME[@VERSION]" if self.stored.has_versions else "NAME"
        show.add_argument("name", metavar=metavar, help=f"the name or id of the {noun}")
        add_json_option(show)
        add_project_options(show)
        self.add_archiving_to(commands)

    def add_archiving_to(self, commands: "_SubParsersAction[ArgumentParser]") -> None:
        """Add archive and restore alone."""
        noun, has_versions = self.stored.noun, self.stored.has_versions
        add_archiving_commands(commands, noun, "[LIBRARY/]NAME" if has_versions else "NAME")

    def run(self, given: Namespace) -> int:
        """Run one of the commands."""
        return asyncio.run(self._run(given))

    async def _run(self, given: Namespace) -> int:
        async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
            if given.command in ARCHIVING:
                await self.archive(app, given)
            else:
                await (self.list(app, given) if given.command == "list" else self.show(app, given))
        return 0

    async def archive(self, app: Application, given: Namespace) -> None:
        """Archive or restore one of them, and say so."""
        does = self.stored.archive if given.command == "archive" else self.stored.restore
        print_archived(await does(app, OneNamed(name=given.name)), self.stored.noun, given)

    async def list(self, app: Application, given: Namespace) -> None:
        """Print a page."""
        page = await self.page(app, given)
        if given.json:
            print_output(page)
        else:
            self.print_page(page, given)

    async def page(self, app: Application, given: Namespace) -> StoredPage:
        """Give the page that the options ask for."""
        if self.stored.has_tags:
            asked: ListStored = ListTagged(
                name=given.name, tag=given.tag, archived=given.archived, limit=given.limit, cursor=given.cursor
            )
        else:
            asked = ListStored(name=given.name, archived=given.archived, limit=given.limit, cursor=given.cursor)
        return await self.stored.list(app, asked)

    def print_page(self, page: StoredPage, given: Namespace) -> None:
        """Print a page for a person."""
        stored, words = self.stored, self.stored.plural.replace("-", " ")
        if not page.items:
            print(f"no {words} match" if is_filtered(given) else f"no {words} yet; `wonder deploy FILE` stores them")
            return
        titles = ["NAME", *(["VERSION"] if stored.has_versions else []), *map(_title, stored.about)]
        rows = [
            [
                one.name,
                *([str(one.version)] if stored.has_versions else []),
                *(_cell(one.about[key]) for key in stored.about),
                one.changed_at[:19].replace("T", " "),
                *([", ".join(one.tags)] if stored.has_tags else []),
                *([shortened(one.description)] if stored.has_versions else []),
            ]
            for one in page.items
        ]
        titles += ["CHANGED", *(["TAGS"] if stored.has_tags else []), *(["DESCRIPTION"] if stored.has_versions else [])]
        print_table(titles, rows)
        print_more(f"wonder {stored.plural} list", page.cursor, given)

    async def show(self, app: Application, given: Namespace) -> None:
        """Print one of them."""
        found = await self.stored.show(app, ShowStored(name=given.name))
        if given.json:
            print_output(found)
        else:
            print_stored(found)


ARCHIVING = ("archive", "restore")


def add_archiving_commands(commands: "_SubParsersAction[ArgumentParser]", noun: str, metavar: str) -> None:
    """Add the commands that archive and restore something."""
    a = f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
    summaries = {"archive": f"archive {a} that nothing needs", "restore": f"restore {a} that was archived"}
    for name, summary in summaries.items():
        command = add_command(commands, name, summary)
        command.add_argument("name", metavar=metavar, help=f"the name or id of the {noun}")
        add_json_option(command)
        add_project_options(command)


def print_archived(done: Archived, noun: str, given: Namespace) -> None:
    """Say what was archived or restored."""
    if given.json:
        print_output(done)
        return
    versions = "" if done.versions is None else f" ({count(done.versions, 'version')})"
    print(f"{color('good', '✓')} {noun} {color('bold', visible(done.name))} {given.command}d{versions}")


def add_filter_options(parser: ArgumentParser, *, has_tags: bool) -> None:
    """Let a list be filtered and read page by page."""
    parser.add_argument("--name", metavar="TEXT", help="list only those with TEXT in their name")
    if has_tags:
        parser.add_argument("--tag", help="list only those with this tag")
    add_archived_option(parser)
    add_page_options(parser)
    add_json_option(parser)
    add_project_options(parser)


def is_filtered(given: Namespace) -> bool:
    """Whether the options leave something out."""
    return bool(given.name or getattr(given, "tag", None) or given.archived or given.cursor)


def print_more(command: str, cursor: str | None, given: Namespace) -> None:
    """Say how to get the next page, with the same filter."""
    if not cursor:
        return
    said = [("--name", given.name), ("--tag", getattr(given, "tag", None))]
    words = "".join(f" {option} {shlex.quote(value)}" for option, value in said if value)
    words += " --archived" if given.archived else ""
    words += f" --limit {given.limit}" if given.limit != 50 else ""
    print(f"more: {command}{words} --cursor {cursor}")


def shortened(text: str) -> str:
    """Give the first line of a description, as far as a table has room for it."""
    first = text.partition("\n")[0]
    return first if len(first) <= _DESCRIPTION_MAX else first[: _DESCRIPTION_MAX - 1] + "…"


def print_stored(found: StoredDetails) -> None:
    """Print one of them for a person: as it is written, then its versions and what uses it."""
    version = f" version {found.version}" if found.version else ""
    print(f"{color('bold', visible(found.name))}{version}, {found.id}")
    print("\n".join(map(visible, found.description.splitlines())), end="\n" if found.description else "")
    if found.tags:
        print(f"tags: {visible(', '.join(found.tags))}")
    shown = {key: value for key, value in found.definition.items() if key not in ("description", "tags")}
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=100)
    print("\n" + "\n".join(map(visible, text.splitlines())) + "\n")
    if found.versions:
        rows = [
            [str(one.version), one.created_at[:19].replace("T", " "), one.content_hash[:12]] for one in found.versions
        ]
        print_table(["VERSION", "STORED", "CONTENT"], rows)
    print(f"used by {visible(', '.join(found.used_by))}" if found.used_by else "used by nothing")


def _title(field: str) -> str:
    return field.replace("_", " ").upper()


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
