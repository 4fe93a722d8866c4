"""What a project has stored under names: tasks, actions, prompts, types of artifacts, models and vector indexes.

One list and one view for all of them: each is declared by its record, in one line at the end.
"""

from dataclasses import dataclass
from typing import Any

from wonder.app.application import Application
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.records.resources import ArtifactType, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.references import parse_reference
from wonder.definitions.written import written_part
from wonder.operations.archiving import Archived, OneNamed, declare_archiving
from wonder.operations.declaring import Input, InputNotAccepted, Operation, operation
from wonder.operations.outputs import Output
from wonder.operations.workflows import VersionRecord, version_record
from wonder.storage.archive import find_users
from wonder.storage.definitions import Owner, load_definition
from wonder.storage.listing import list_versions
from wonder.storage.named_lists import TAGGED, NamedFilter, NamedRow, list_named
from wonder.storage.names import find_definition
from wonder.storage.own_resources import find_own_resource, load_seen_definition
from wonder.storage.pages import LIMIT
from wonder.storage.resource_errors import NotFound
from wonder.storage.tables import Table, table_of


class StoredSummary(Output, frozen=True):
    """Something that a project has under a name, as lists show it."""

    id: str
    name: str
    version: int | None
    """The newest version; null for what has no versions."""
    description: str
    tags: list[str]
    about: dict[str, Any]
    """What tells it from others of its sort: the kind of an action, the provider of a model."""
    changed_at: str
    archived_at: str | None


class StoredPage(Output, frozen=True):
    """Some of what a project has under names, by name; `cursor` gets the next page, or is null at the end."""

    items: list[StoredSummary]
    cursor: str | None


class StoredDetails(Output, frozen=True):
    """Something that a project or a library has under a name, in full."""

    id: str
    name: str
    version: int | None
    description: str
    tags: list[str]
    definition: dict[str, Any]
    """As it is written in a definition file."""
    versions: list[VersionRecord]
    """Newest first; none for what has no versions."""
    used_by: list[str]
    """What names it, such as `task charge@2`."""


class ListStored(Input, frozen=True):
    """Which of them, and which page."""

    name: str | None = None
    """Only names that contain this, in upper or lower case."""
    archived: bool = False
    """Only what is archived; otherwise only what is not."""
    limit: int = LIMIT
    cursor: str | None = None


class ListTagged(ListStored, frozen=True):
    """Which of them, and which page."""

    tag: str | None = None
    """Only those with this tag."""


class ShowStored(Input, frozen=True):
    """Which one."""

    name: str
    """`name`, `name@version`, `library/name@version`, or the id."""


@dataclass(frozen=True)
class Stored:
    """A sort of thing that has names: how it is listed and shown."""

    plural: str
    """In the names of commands: `artifact-types`."""
    noun: str
    record: type[Any]
    about: tuple[str, ...]
    """The fields that a list shows besides name, description and tags."""
    list: Operation[Any, StoredPage]
    show: Operation[ShowStored, StoredDetails]
    archive: Operation[OneNamed, Archived]
    restore: Operation[OneNamed, Archived]

    @property
    def has_tags(self) -> bool:
        """Whether it can be found by tag."""
        return table_of(self.record).name in TAGGED

    @property
    def has_versions(self) -> bool:
        """Whether it is a definition."""
        return "version" in self.record.model_fields


def _declare(plural: str, noun: str, record: type[Any], about: tuple[str, ...] = ()) -> Stored:
    """Declare the operations of a sort of thing."""
    table, name = table_of(record), plural.replace("-", "_")

    async def show(application: Application, given: ShowStored) -> StoredDetails:
        return await _details(application, table, given.name)

    async def list_all(application: Application, given: ListStored) -> StoredPage:
        return await _page(application, table, about, given, None)

    async def list_tagged(application: Application, given: ListTagged) -> StoredPage:
        return await _page(application, table, about, given, given.tag)

    show.__doc__ = f"Show {'an' if noun[0] in 'aeiou' else 'a'} {noun}: its definition, its versions and what uses it."
    listing: Any = list_tagged if table.name in TAGGED else list_all
    listing.__doc__ = f"List the {plural.replace('-', ' ')} of the project, by name."
    return Stored(
        plural,
        noun,
        record,
        about,
        operation(f"{name}.list", role="viewer")(listing),
        operation(f"{name}.show", role="viewer")(show),
        *declare_archiving(name, noun, table),
    )


async def _page(
    application: Application, table: Table[Any], about: tuple[str, ...], given: ListStored, tag: str | None
) -> StoredPage:
    wanted = NamedFilter(name=given.name, tag=tag, archived=given.archived, limit=given.limit, cursor=given.cursor)
    page = await list_named(application.store, table, application.home.project_id, wanted)
    return StoredPage(items=[_summary(one, about) for one in page.items], cursor=page.cursor)


def _summary(row: NamedRow, about: tuple[str, ...]) -> StoredSummary:
    fields = row.fields
    return StoredSummary(
        id=fields["id"],
        name=fields["name"],
        version=fields.get("version"),
        description=row.description,
        tags=row.tags,
        about={key: fields[key] for key in about},
        changed_at=fields["updated_at"],
        archived_at=row.archived_at,
    )


async def _details(application: Application, table: Table[Any], wanted: str) -> StoredDetails:
    store = application.store
    record = await _find(application, table, wanted)
    is_definition = hasattr(record, "version")
    versions = await list_versions(store, table.record, record.id) if is_definition else []
    return StoredDetails(
        id=record.id,
        name=record.name,
        version=getattr(record, "version", None),
        description=getattr(record, "description", ""),
        tags=getattr(record, "tags", None) or [],
        definition=await _written(application, record),
        versions=[version_record(one) for one in versions],
        used_by=[str(user) for user in await find_users(store, table, record.id)],
    )


async def _find(application: Application, table: Table[Any], wanted: str) -> Any:
    """Load what a name, a reference or an id means; raises NotFound, also for what another project has."""
    store, project_id, kind = application.store, application.home.project_id, table.record
    reference = parse_reference("task", wanted, ())
    if reference is None:
        raise InputNotAccepted(f"{table.noun}s", f"{wanted!r} is not a name; write NAME, NAME@VERSION or LIBRARY/NAME")
    if "version" not in kind.model_fields:
        found = await find_own_resource(store, kind, project_id, wanted)
        if found is None:
            raise NotFound(table.noun, wanted)
        return found
    owner = Owner("project", project_id)
    meant = await find_definition(store, kind, owner, reference.name, reference.version, reference.library)
    if meant is not None:
        return await load_definition(store, kind, meant.id, meant.version)
    try:
        return await load_seen_definition(store, kind, project_id, reference.name, reference.version)
    except NotFound:
        raise NotFound(table.noun, wanted) from None


async def _written(application: Application, record: Record) -> dict[str, Any]:
    store, actions = application.store, {}
    if isinstance(record, TaskDef):
        for step in record.steps:
            key = (step.action_id, step.action_version)
            actions[key] = await load_definition(store, ActionDef, *key)
    written = written_part(record, actions)
    if isinstance(record, VectorIndex):
        # By any version: all of a type may be archived, if its index was when they were.
        types = [await list_versions(store, ArtifactType, id) for id in record.artifact_type_ids]
        written["artifact_type_ids"] = [versions[0].name for versions in types]
    return written


TASKS = _declare("tasks", "task", TaskDef)
ACTIONS = _declare("actions", "action", ActionDef, ("kind",))
PROMPTS = _declare("prompts", "prompt", PromptSpec)
ARTIFACT_TYPES = _declare("artifact-types", "artifact type", ArtifactType)
MODELS = _declare("models", "model", ModelProfile, ("provider", "model_id"))
VECTORS = _declare(
    "vectors", "vector index", VectorIndex, ("embedding_provider", "embedding_model", "dimensions", "auto_index")
)
