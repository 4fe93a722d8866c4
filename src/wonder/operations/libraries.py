"""Libraries that the workspace sees, its own and the public ones: made, shown, archived (RES-1, RES-5)."""

from wonder.app.application import Application
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, PromptSpec
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.tenancy import Library
from wonder.operations.declaring import Input, operation
from wonder.operations.names import check_name
from wonder.operations.outputs import Output
from wonder.storage.archived_libraries import archive_library, restore_library
from wonder.storage.definitions import D, Owner
from wonder.storage.listing import list_definitions
from wonder.storage.pages import HIGHEST_LIMIT, LIMIT
from wonder.storage.resource_errors import NotFound
from wonder.storage.tenancy import create_library, find_library, list_libraries


class LibraryRecord(Output, frozen=True):
    """A library, without what it holds."""

    id: str
    name: str
    description: str | None
    public: bool
    """Whether it belongs to no workspace and is seen by all."""
    created_at: str


class LibraryPage(Output, frozen=True):
    """Some libraries, by name; `cursor` gets the next page, or is null at the end."""

    libraries: list[LibraryRecord]
    cursor: str | None


class ListLibraries(Input, frozen=True):
    """Which libraries, and which page of them."""

    archived: bool = False
    """Those that are archived, instead of those that are live."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("libraries.list", role="viewer")
async def list_seen_libraries(application: Application, given: ListLibraries) -> LibraryPage:
    """List the libraries that the workspace sees: its own and the public ones."""
    store, workspace_id = application.store, application.home.workspace_id
    page = await list_libraries(store, workspace_id, archived=given.archived, limit=given.limit, cursor=given.cursor)
    return LibraryPage(libraries=[_record(one) for one in page.items], cursor=page.cursor)


class LibraryDefinition(Output, frozen=True):
    """A definition of a library, at its newest version."""

    kind: str
    name: str
    """As others name it: `library/name`."""
    id: str
    version: int
    description: str


class LibraryDetails(Output, frozen=True):
    """A library, and the definitions in it."""

    library: LibraryRecord
    definitions: list[LibraryDefinition]


class OneLibrary(Input, frozen=True):
    """A library that the workspace sees; its own comes before a public one of the name."""

    name: str


@operation("libraries.show", role="viewer")
async def show_library(application: Application, given: OneLibrary) -> LibraryDetails:
    """Show a library, and what it holds."""
    library = await find_library(application.store, application.home.workspace_id, given.name)
    if library is None:
        raise NotFound("library", given.name)
    definitions = [
        *await _held(application, library, "workflow", WorkflowDef),
        *await _held(application, library, "task", TaskDef),
        *await _held(application, library, "action", ActionDef),
        *await _held(application, library, "prompt", PromptSpec),
        *await _held(application, library, "artifact type", ArtifactType),
    ]
    return LibraryDetails(library=_record(library), definitions=definitions)


class CreateLibrary(Input, frozen=True):
    """A new library."""

    name: str
    description: str | None = None


@operation("libraries.create", role="author", changes=True, reach="workspace")
async def create_own_library(application: Application, given: CreateLibrary) -> LibraryRecord:
    """Make a library of the workspace, which all its projects see."""
    return await _create(application, given, application.home.workspace_id)


@operation("libraries.create_public", role="admin", changes=True, reach="server")
async def create_public_library(application: Application, given: CreateLibrary) -> LibraryRecord:
    """Make a public library, which every workspace of the database sees."""
    return await _create(application, given, None)


@operation("libraries.archive", role="author", changes=True, reach="workspace")
async def archive_own_library(application: Application, given: OneLibrary) -> LibraryRecord:
    """Archive a library of the workspace with all that it holds, if nothing outside of it needs that."""
    return await _archive(application, given.name, application.home.workspace_id)


@operation("libraries.archive_public", role="admin", changes=True, reach="server")
async def archive_public_library(application: Application, given: OneLibrary) -> LibraryRecord:
    """Archive a public library with all that it holds, if nothing outside of it needs that."""
    return await _archive(application, given.name, None)


@operation("libraries.restore", role="author", changes=True, reach="workspace")
async def restore_own_library(application: Application, given: OneLibrary) -> LibraryRecord:
    """Make an archived library of the workspace live again; of several with the name, the one archived last."""
    return await _restore(application, given.name, application.home.workspace_id)


@operation("libraries.restore_public", role="admin", changes=True, reach="server")
async def restore_public_library(application: Application, given: OneLibrary) -> LibraryRecord:
    """Make an archived public library live again; of several with the name, the one archived last."""
    return await _restore(application, given.name, None)


async def _archive(application: Application, name: str, workspace_id: str | None) -> LibraryRecord:
    async with application.store.transaction() as transaction:
        library = await find_library(transaction, workspace_id, name)
        if library is None or library.workspace_id != workspace_id:
            raise NotFound("library of the workspace" if workspace_id else "public library", name)
        await archive_library(transaction, library, at=application.clock())
    return _record(library)


async def _restore(application: Application, name: str, workspace_id: str | None) -> LibraryRecord:
    async with application.store.transaction() as transaction:
        return _record(await restore_library(transaction, workspace_id, name, at=application.clock()))


async def _create(application: Application, given: CreateLibrary, workspace_id: str | None) -> LibraryRecord:
    now = application.clock()
    library = Library(
        id=application.new_id(),
        workspace_id=workspace_id,
        name=check_name("library", given.name),
        description=given.description,
        created_at=now,
        updated_at=now,
    )
    async with application.store.transaction() as transaction:
        await create_library(transaction, library)
    return _record(library)


async def _held(application: Application, library: Library, kind: str, record: type[D]) -> list[LibraryDefinition]:
    found: list[LibraryDefinition] = []
    cursor: str | None = None
    while True:
        owner = Owner("library", library.id)
        page = await list_definitions(application.store, record, owner, limit=HIGHEST_LIMIT, cursor=cursor)
        found += [
            LibraryDefinition(
                kind=kind,
                name=f"{library.name}/{one.name}",
                id=one.id,
                version=one.version,
                description=one.description,
            )
            for one in page.items
        ]
        cursor = page.cursor
        if cursor is None:
            return found


def _record(library: Library) -> LibraryRecord:
    return LibraryRecord(
        id=library.id,
        name=library.name,
        description=library.description,
        public=library.workspace_id is None,
        created_at=library.created_at,
    )
