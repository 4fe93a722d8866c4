"""What has a name is archived and restored: tasks, actions, prompts, models, indexes, MCP servers … (RES-5)."""

from typing import Any

from wonder.app.application import Application
from wonder.definitions.references import Reference, parse_reference
from wonder.errors import WonderError
from wonder.operations.declaring import Input, InputNotAccepted, Operation, operation
from wonder.operations.outputs import Output
from wonder.operations.permitting import Needs
from wonder.storage import archive as kept
from wonder.storage.definitions import Owner, owner_of
from wonder.storage.names import find_owned
from wonder.storage.own_resources import find_live_resource, load_seen_definition
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader
from wonder.storage.tables import Table
from wonder.storage.tenancy import Home, find_library


class Archived(Output, frozen=True):
    """What was archived or restored."""

    name: str
    versions: int | None
    """How many versions of it; null for what has no versions."""


class OneNamed(Input, frozen=True):
    """Something that a project or a library has under a name."""

    name: str
    """`name` or id of what the project has, or `library/name`."""

    @property
    def needs(self) -> Needs:
        """What a library holds is every project's."""
        return Needs(reach="workspace" if "/" in self.name else "project")


class HeldByPublicLibrary(WonderError):
    """A definition of a public library was to be archived or restored by itself."""

    code = "PUBLIC_LIBRARY"

    def __init__(self, library: str) -> None:
        super().__init__(
            f"the library {library!r} is public, and what it holds is archived only with it, by an admin: "
            f"`wonder libraries archive {library} --public`"
        )
        self.library = library


def declare_archiving(
    name: str, noun: str, table: Table[Any]
) -> tuple[Operation[OneNamed, Archived], Operation[OneNamed, Archived]]:
    """Declare the two operations that archive and restore a sort of thing."""

    async def archive(application: Application, given: OneNamed) -> Archived:
        return await _archive(application, table, given.name)

    async def restore(application: Application, given: OneNamed) -> Archived:
        return await _restore(application, table, given.name)

    a = f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
    archive.__doc__ = f"Archive {a}, if no live run and no workflow that can be started needs it."
    restore.__doc__ = f"Make {a} that was archived live again."
    return (
        operation(f"{name}.archive", role="author", changes=True)(archive),
        operation(f"{name}.restore", role="author", changes=True)(restore),
    )


async def _archive(application: Application, table: Table[Any], wanted: str) -> Archived:
    home, at = application.home, application.clock()
    reference = _reference(table, wanted)
    async with application.store.transaction() as transaction:
        if "version" not in table.record.model_fields:
            resource = await find_live_resource(transaction, table.record, home.project_id, wanted)
            if resource is None:
                raise NotFound(table.noun, wanted)
            await kept.archive_resource(transaction, table.record, resource.id, at=at)
            return Archived(name=resource.name, versions=None)
        id, name = await _definition(transaction, table, home, reference)
        return Archived(name=name, versions=await kept.archive_definition(transaction, table.record, id, at=at))


async def _restore(application: Application, table: Table[Any], wanted: str) -> Archived:
    home, at = application.home, application.clock()
    reference = _reference(table, wanted)
    async with application.store.transaction() as transaction:
        if "version" not in table.record.model_fields:
            restored = await kept.restore_resource(transaction, table.record, home.project_id, wanted, at=at)
            return Archived(name=restored.name, versions=None)
        owner = await _owner(transaction, home, reference)
        name, versions = await kept.restore_definition(transaction, table.record, owner, reference.name)
        return Archived(name=name, versions=versions)


async def _definition(reader: Reader, table: Table[Any], home: Home, reference: Reference) -> tuple[str, str]:
    """Give the id and the name of the live definition that is meant; raises NotFound."""
    owner = await _owner(reader, home, reference)
    found = await find_owned(reader, table.record, owner, reference.name)
    if found is not None:
        return found.id, found.name
    try:
        record = await load_seen_definition(reader, table.record, home.project_id, reference.name)
    except NotFound:
        record = None
    if record is None or owner_of(record) != owner:
        raise NotFound(table.noun, str(reference))
    return record.id, record.name


async def _owner(reader: Reader, home: Home, reference: Reference) -> Owner:
    """Give the project, or the library of its workspace that is named; raises NotFound or HeldByPublicLibrary."""
    if reference.library is None:
        return Owner("project", home.project_id)
    library = await find_library(reader, home.workspace_id, reference.library)
    if library is None:
        raise NotFound("library", reference.library)
    if library.workspace_id is None:
        raise HeldByPublicLibrary(library.name)
    return Owner("library", library.id)


def _reference(table: Table[Any], wanted: str) -> Reference:
    reference = parse_reference("task", wanted, ())
    if reference is None or reference.version is not None:
        raise InputNotAccepted(
            f"{table.noun}s", f"{wanted!r} can't be archived or restored; write NAME or LIBRARY/NAME, for all versions"
        )
    return reference
