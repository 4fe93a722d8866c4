"""List and show artifacts, and get their content.

Their metadata can also be read with SQL: wonder query "SELECT * FROM artifact_log".

  wonder artifacts list --run 01M7P9D2J8Q0T4X6Z7B1C3E5G9
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from wonder.app.application import Application
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table, visible, visible_json
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import (
    add_objects_option,
    add_project_options,
    database_setting,
    objects_setting,
    tenant_setting,
)
from wonder.cli.subcommands import add_command, add_json_option, add_page_options
from wonder.errors import WonderError
from wonder.operations.artifacts import ListArtifacts, OneArtifact, artifact_content, list_artifacts, show_artifact


class FileNotWritten(WonderError):
    """A file that content should go to can't be written."""

    code = "FILE_NOT_WRITTEN"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the file {path} can't be written: {reason}; name another with --output")
        self.path, self.reason = path, reason


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = add_command(commands, "list", "list the artifacts of the project or of one run, newest first")
    listing.add_argument("--run", metavar="RUN", help="list only the artifacts of this run, including inherited ones")
    add_page_options(listing)
    show = add_command(commands, "show", "show an artifact: its type, size, origin and metadata")
    get = add_command(
        commands,
        "get",
        "write the content of an artifact to standard output or a file",
        "  wonder artifacts get 01M7P9D2J8Q0T4X6Z7B1C3E5G9 -o report.pdf",
    )
    get.add_argument(
        "--output", "-o", metavar="FILE", help="write to this file; it is replaced only if the content is complete"
    )
    add_objects_option(get)
    for command in (show, get):
        command.add_argument("artifact_id", metavar="ARTIFACT", help="the id of the artifact")
    for command in (listing, show):
        add_json_option(command)
    for command in commands.choices.values():
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    asyncio.run(_run(given))
    return 0


async def _run(given: Namespace) -> None:
    objects = objects_setting(given.objects) if given.command == "get" else None
    async with open_app(
        database_setting(given.db).value, create=False, objects=objects, **tenant_setting(given)
    ) as app:
        await _DOES[given.command](app, given)


async def _list(app: Application, given: Namespace) -> None:
    page = await list_artifacts(app, ListArtifacts(run_id=given.run, limit=given.limit, cursor=given.cursor))
    if given.json:
        print_output(page)
        return
    if not page.artifacts:
        print("no artifacts yet; a step of the kind write_artifact stores one")
        return
    print_table(
        ["ARTIFACT", "NODE", "TYPE", "CONTENT", "BYTES", "WRITTEN"],
        [
            [one.artifact_id, one.node, one.type, one.content_type, f"{one.size_bytes:,}", shown_time(one.created_ms)]
            for one in page.artifacts
        ],
    )
    if page.cursor:
        print(color("dim", f"more: --cursor {page.cursor}"))


async def _show(app: Application, given: Namespace) -> None:
    artifact = await show_artifact(app, OneArtifact(artifact_id=given.artifact_id))
    if given.json:
        print_output(artifact)
        return
    print(f"{color('bold', artifact.artifact_id)}  {visible(artifact.content_type)}, {artifact.size_bytes:,} bytes")
    print(f"  type {visible(artifact.type)}, written {shown_time(artifact.created_ms)}")
    print(f"  run {artifact.run_id}, node {artifact.node!r} ({artifact.path_id}), step {artifact.step!r}")
    print(f"  content {visible(artifact.storage_key)}")
    print(f"  data {visible_json(artifact.schema_data)}")
    print(f"  {color('hint', f'wonder artifacts get {artifact.artifact_id}')}")


async def _get(app: Application, given: Namespace) -> None:
    asked = OneArtifact(artifact_id=given.artifact_id)
    if given.output is None:
        # A terminal would obey what it is sent; a pipe or a file gets every byte as it is.
        shown = _shown if sys.stdout.isatty() else None
        decoder = getincrementaldecoder("utf-8")("replace")
        async for chunk in artifact_content(app, asked):
            sys.stdout.buffer.write(shown(decoder.decode(chunk)) if shown else chunk)
        if shown:
            sys.stdout.buffer.write(shown(decoder.decode(b"", final=True)))
        sys.stdout.buffer.flush()
        return
    artifact = await show_artifact(app, asked)
    with _replacing(Path(given.output)) as file:
        async for chunk in artifact_content(app, asked):
            file.write(chunk)
    print(f"{color('good', '✓')} {given.output}: {artifact.size_bytes:,} bytes")


def _shown(text: str) -> bytes:
    """Write out what a terminal would obey, but for line breaks and tabs."""
    lines = ["\t".join(map(visible, line.split("\t"))) for line in text.split("\n")]
    return "\n".join(lines).encode(sys.stdout.encoding or "utf-8", "backslashreplace")


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside another, which it replaces in the end: what turns out to be damaged never has its name."""
    try:
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as file:
            written = Path(file.name)
            try:
                yield file
                file.flush()
                written.replace(target)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise FileNotWritten(str(target), error.strerror or str(error)) from error


_DOES = {"list": _list, "show": _show, "get": _get}
