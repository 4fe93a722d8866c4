"""List artifacts, show what is known of one, and get its content.

Their data can also be asked for with SQL: wonder query "SELECT * FROM artifact_log".
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from wonder.app import App, open_app
from wonder.app.objects import objects_of
from wonder.cli.output import color, print_json, print_table
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.definitions.records.resources import ArtifactType
from wonder.errors import WonderError
from wonder.language.values import encode_json
from wonder.objects.store import Objects
from wonder.storage.artifacts import Artifact, artifacts_of_project, artifacts_of_run, load_artifact
from wonder.storage.definitions import load_definition
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import load_header


class FileNotWritten(WonderError):
    """A file that content should go to can't be written."""

    code = "FILE_NOT_WRITTEN"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the file {path} can't be written: {reason}; name another with --output")
        self.path, self.reason = path, reason


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list artifacts of the project or of a run, newest first")
    listing.add_argument("--run", metavar="RUN", help="only those of a run, and those that it inherits")
    listing.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    listing.add_argument("--cursor", help="go on behind an earlier page")
    show = commands.add_parser("show", help="show what is known of an artifact")
    get = commands.add_parser("get", help="write the content of an artifact to standard output or a file")
    get.add_argument("--output", "-o", metavar="FILE", help="a file, which is written whole or not at all")
    add_objects_option(get)
    for command in (show, get):
        command.add_argument("artifact_id", metavar="ARTIFACT")
    for command in (listing, show):
        command.add_argument("--json", action="store_true", help="print the result for a program")
    for command in commands.choices.values():
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    asyncio.run(_run(given))
    return 0


async def _run(given: Namespace) -> None:
    url = database_setting(given.db).value
    async with open_app(url, create=False) as app:
        if given.command == "list":
            await _list(app, given)
        elif given.command == "show":
            await _show(app, await load_artifact(app.store, app.home.project_id, given.artifact_id), given.json)
        else:
            objects = objects_of(url, objects_setting(given.objects))
            artifact = await load_artifact(app.store, app.home.project_id, given.artifact_id)
            await _get(objects, artifact, given.output)


async def _list(app: App, given: Namespace) -> None:
    if given.run:
        header = await load_header(app.store, given.run)
        if header.project_id != app.home.project_id:
            raise NotFound("run", given.run)
        page = await artifacts_of_run(app.store, header.id, limit=given.limit, cursor=given.cursor)
    else:
        project_id = app.home.project_id
        page = await artifacts_of_project(app.store, project_id, limit=given.limit, cursor=given.cursor)
    if given.json:
        print_json({"artifacts": [_as_json(artifact) for artifact in page.items], "cursor": page.cursor})
        return
    if not page.items:
        print("no artifacts yet; a step of the kind write_artifact stores one")
        return
    print_table(
        ["ARTIFACT", "NODE", "TYPE", "CONTENT", "BYTES", "WRITTEN"],
        [
            [a.id, a.node, await _type(app, a), a.content_type, f"{a.size_bytes:,}", _time(a.created_ms)]
            for a in page.items
        ],
    )
    if page.cursor:
        print(color("dim", f"more: --cursor {page.cursor}"))


async def _show(app: App, artifact: Artifact, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(artifact))
        return
    print(f"{color('bold', artifact.id)}  {artifact.content_type}, {artifact.size_bytes:,} bytes")
    print(f"  type {await _type(app, artifact)}, written {_time(artifact.created_ms)}")
    print(f"  run {artifact.run_id}, node {artifact.node!r} ({artifact.path_id}), step {artifact.step!r}")
    print(f"  content {artifact.storage_key}")
    print(f"  data {encode_json(artifact.schema_data)}")
    print(f"  {color('hint', f'wonder artifacts get {artifact.id}')}")


async def _get(objects: Objects, artifact: Artifact, output: str | None) -> None:
    if output is None:
        async for chunk in objects.read(artifact.storage_key):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    with _replacing(Path(output)) as file:
        async for chunk in objects.read(artifact.storage_key):
            file.write(chunk)
    print(f"{color('good', '✓')} {output}: {artifact.size_bytes:,} bytes")


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside another, which it replaces in the end: what turns out to be damaged never has its name."""
    try:
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as file:
            written = Path(file.name)
            try:
                yield file
                file.flush()
                written.chmod(0o644)
                written.replace(target)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise FileNotWritten(str(target), error.strerror or str(error)) from error


def _as_json(artifact: Artifact) -> dict[str, Any]:
    return {
        "artifact_id": artifact.id,
        "run_id": artifact.run_id,
        "node": artifact.node,
        "path_id": artifact.path_id,
        "step": artifact.step,
        "part": artifact.part,
        "artifact_type_id": artifact.artifact_type_id,
        "artifact_type_version": artifact.artifact_type_version,
        "content_type": artifact.content_type,
        "size_bytes": artifact.size_bytes,
        "storage_key": artifact.storage_key,
        "schema_data": artifact.schema_data,
        "created_ms": artifact.created_ms,
    }


async def _type(app: App, artifact: Artifact) -> str:
    version = artifact.artifact_type_version
    if version is None:
        return artifact.artifact_type_id
    definition = await load_definition(app.store, ArtifactType, artifact.artifact_type_id, version)
    return f"{definition.name}@{version}"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
