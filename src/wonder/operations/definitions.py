"""Definitions: checked, and stored with versions."""

from collections.abc import Collection

from msgspec import UNSET, UnsetType, field

from wonder.actions.functions.functions import FunctionRegistry
from wonder.app.application import Application
from wonder.app.checking import LARGE_BYTES, beside, is_large
from wonder.app.deploying import (
    compile_definition,
    find_main_workflow,
    load_catalog_for,
    store_definition,
    with_functions,
)
from wonder.definitions.faults import DefinitionRefused, Fault, has_errors
from wonder.definitions.loading import Loaded
from wonder.operations.auditing import recorded
from wonder.operations.declaring import Input, operation
from wonder.operations.definition_files import DefinitionFile, FaultRecord, fault_records, read_definition
from wonder.operations.outputs import Output
from wonder.operations.permitting import Needs, NotAllowed
from wonder.operations.workflow_records import WorkflowRecord, workflow_record
from wonder.storage.deploying import Deployed


class GivenFile(Input, frozen=True):
    """A definition in YAML or JSON; its name is shown in errors."""

    unaudited = frozenset({"text"})

    text: str
    name: str = "definition"


class GivenFiles(Input, frozen=True):
    """Definition files, in the order in which they are stored: a later one may name what an earlier one holds."""

    files: list[GivenFile]
    allow_mcp: list[str] = field(default_factory=list)
    """MCP servers whose commands are approved with this."""

    @property
    def needs(self) -> Needs:
        """An approval is the workspace's, and lets a command be started on the server, even to check a file."""
        return Needs("admin", "workspace") if self.allow_mcp else Needs()


class CheckedFile(Output, frozen=True):
    """What is wrong with a file."""

    file: str
    valid: bool
    errors: list[FaultRecord]
    warnings: list[FaultRecord]


class Validation(Output, frozen=True):
    """Whether files can be stored; warnings are allowed."""

    valid: bool
    files: list[CheckedFile]


@operation("definitions.validate", role="viewer")
async def validate(application: Application, given: GivenFiles) -> Validation:
    """Check definition files and report everything that is wrong with them; nothing is stored."""
    files = await _read(given)
    loaded = [file.loaded for file in files if file.loaded]
    for file in files:
        if file.loaded:
            allow_mcp = allowed_for(file.loaded, loaded, given.allow_mcp)
            file.faults = await check_loaded(application, file.loaded, allow_mcp, application.functions)
    return validation_of(files)


class StoredDefinition(Output, frozen=True):
    """A definition, and the version that holds its content."""

    kind: str
    name: str
    id: str
    version: int
    new: bool


class StoredSchedule(Output, frozen=True):
    """A schedule of a file, and whether it was new or changed."""

    name: str
    changed: bool


class DeployedFile(Output, frozen=True):
    """What a file has become; a file that was refused has stored nothing."""

    file: str
    stored: bool
    errors: list[FaultRecord]
    warnings: list[FaultRecord]
    definitions: list[StoredDefinition] | UnsetType = UNSET
    schedules: list[StoredSchedule] | UnsetType = UNSET
    workflow: WorkflowRecord | UnsetType = UNSET
    """The workflow that the file is about, if it has one."""


class Deployment(Output, frozen=True):
    """What files have become; each was stored as a whole or not at all."""

    files: list[DeployedFile]


@operation("definitions.deploy", role="author", changes=True)
async def deploy(application: Application, given: GivenFiles) -> Deployment:
    """Check definition files and store them, with versions; what has not changed gets no new one."""
    files = await _read(given)
    return await _deploy_files(application, files, given.allow_mcp)


@operation("definitions.deploy_public", role="admin", changes=True, reach="server")
async def deploy_public(application: Application, given: GivenFiles) -> Deployment:
    """Check definition files that have only libraries, and store these as public ones, with versions."""
    files = await _read(given)
    return await _deploy_files(application, files, given.allow_mcp, public=True)


async def _read(given: GivenFiles) -> list[DefinitionFile]:
    large = sum(len(one.text) for one in given.files) > LARGE_BYTES
    return await beside(lambda: [read_definition(one.name, one.text.encode()) for one in given.files], is_large=large)


async def check_loaded(
    application: Application, loaded: Loaded, allow_mcp: Collection[str], functions: FunctionRegistry | None
) -> list[Fault]:
    """Compile and check a definition that was read; what it names but does not hold is looked up."""
    compiled = await compile_definition(application, loaded, allow_mcp=allow_mcp)
    catalog = await load_catalog_for(application, compiled)
    known = await with_functions(catalog, compiled, functions)
    return await beside(lambda: compiled.check(known), is_large=is_large(compiled))


def validation_of(files: list[DefinitionFile]) -> Validation:
    """Give what was found out of files that were checked."""
    checked = [
        CheckedFile(
            file=file.name,
            valid=not has_errors(file.faults),
            errors=fault_records(file.faults, "error"),
            warnings=fault_records(file.faults, "warning"),
        )
        for file in files
    ]
    return Validation(valid=all(one.valid for one in checked), files=checked)


async def deploy_files(
    application: Application, files: list[DefinitionFile], allow_mcp: Collection[str], *, public: bool = False
) -> Deployment:
    """Store files that were read, as far as they can be; each one's faults are what deploying it has found."""
    given = GivenFiles(files=[GivenFile(text="", name=file.name) for file in files], allow_mcp=list(allow_mcp))
    work = _deploy_files(application, files, allow_mcp, public=public)
    return await recorded(application, deploy_public if public else deploy, given, work)


async def deploy_loaded(
    application: Application, loaded: Loaded, name: str, allow_mcp: Collection[str]
) -> tuple[Deployed, list[Fault]]:
    """Store one file that was read; raises DefinitionRefused."""
    found: list[tuple[Deployed, list[Fault]]] = []

    async def work() -> DeployedFile:
        found.append(await application.deploy_loaded(loaded, allow_mcp=allow_mcp))
        return _deployed_file(DefinitionFile(name, loaded=loaded), found[0][0])

    given = GivenFiles(files=[GivenFile(text="", name=name)], allow_mcp=list(allow_mcp))
    await recorded(application, deploy, given, work())
    return found[0]


async def _deploy_files(
    application: Application, files: list[DefinitionFile], allow_mcp: Collection[str], *, public: bool = False
) -> Deployment:
    loaded = [file.loaded for file in files if file.loaded]
    caller = application.caller
    if caller and caller.reach == "project" and any(one.reading.bundle.libraries for one in loaded):
        raise NotAllowed(
            "a file has libraries, which are the whole workspace's; deploy them with a key of the workspace"
        )
    results = []
    for file in files:
        deployed: Deployed | None = None
        if file.loaded:
            allowed = allowed_for(file.loaded, loaded, allow_mcp)
            try:
                if public:
                    deployed, file.faults = await store_definition(
                        application, file.loaded, public=True, functions=file.functions or application.functions
                    )
                else:
                    deployed, file.faults = await application.deploy_loaded(
                        file.loaded, allow_mcp=allowed, functions=file.functions
                    )
            except DefinitionRefused as refusal:
                file.faults = list(refusal.faults)
        results.append(_deployed_file(file, deployed))
    return Deployment(files=results)


def allowed_for(loaded: Loaded, all_loaded: Collection[Loaded], allowed: Collection[str]) -> list[str]:
    """Give the names that one of several files is to be checked with: its own servers, and those that no file has."""
    if not allowed:
        return []
    from wonder.app.mcp_approvals import servers_in  # takes time to load, and most commands allow nothing

    own = servers_in(loaded)
    in_files = {name for one in all_loaded for name in servers_in(one)}
    return [name for name in allowed if name in own or name not in in_files]


def _deployed_file(file: DefinitionFile, deployed: Deployed | None) -> DeployedFile:
    definitions: list[StoredDefinition] | UnsetType = UNSET
    schedules: list[StoredSchedule] | UnsetType = UNSET
    workflow: WorkflowRecord | UnsetType = UNSET
    if deployed:
        versions = [*deployed.others, *(("workflow", workflow) for workflow in deployed.workflows)]
        definitions = [
            StoredDefinition(kind=kind, name=one.name, id=one.id, version=one.version, new=one.is_new)
            for kind, one in versions
        ]
        if deployed.schedules:
            schedules = [StoredSchedule(name=name, changed=changed) for name, changed in deployed.schedules]
        if found := find_main_workflow(deployed):
            workflow = workflow_record(found)
    return DeployedFile(
        file=file.name,
        stored=deployed is not None,
        errors=fault_records(file.faults, "error"),
        warnings=fault_records(file.faults, "warning"),
        definitions=definitions,
        schedules=schedules,
        workflow=workflow,
    )
