"""From a definition to what is stored: the catalog that it is checked with, its compiled parts, its versions."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from wonder.app.checking import beside, is_large
from wonder.app.given_files import read_given_file
from wonder.app.project import OpenProject
from wonder.language.values import check_value
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader

if TYPE_CHECKING:
    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.actions.mcp_tool.kind import McpToolKind
    from wonder.app.tools import ToolDirectory
    from wonder.definitions.catalog import Catalog
    from wonder.definitions.faults import Fault
    from wonder.definitions.loading import Loaded
    from wonder.definitions.records.workflows import Workflow
    from wonder.storage.deploying import Deployed


async def read_definition(definition: str | Path | Mapping[str, Any]) -> "Loaded":
    """Read a definition, a file or a value; raises DefinitionRefused."""
    # What reads, checks and stores definitions takes 20 ms to load; a process that only runs them does not need it.
    from wonder.actions.announcing import announce_kinds
    from wonder.definitions.loading import load_text, load_value
    from wonder.storage.zones import announce_zones

    announce_kinds()
    announce_zones()
    if isinstance(definition, Mapping):
        return load_value(check_value(dict(definition)))
    # All in one thread: to read a large file takes longer than to find it.
    return await asyncio.to_thread(lambda: load_text(read_given_file(definition), str(definition)))


def main_workflow(deployed: "Deployed", definition: str | Path | Mapping[str, Any]) -> "Workflow":
    """Give the workflow that a definition is about; raises NotFound if it has none."""
    found = find_main_workflow(deployed)
    if found is None:
        raise NotFound("workflow", str(definition))
    return found


def find_main_workflow(deployed: "Deployed") -> "Workflow | None":
    """Give the workflow that a definition is about, if it has one.

    As it was stored, not read again: on SQLite another connection would first have to read the whole schema anew, which
    deploying has changed, and that takes longer with each workflow.
    """
    name = deployed.main.name if deployed.main else next((one.name for one in deployed.workflows), None)
    return None if name is None else deployed.bindings.get(name)


async def load_catalog_for(project: OpenProject, loaded: "Loaded", reader: Reader | None = None) -> "Catalog":
    """Load what a definition names that is stored already."""
    # Only to store definitions, as in `read_definition`.
    from wonder.app.functions import calls_functions
    from wonder.storage.catalog import load_allowed, load_catalog, load_tools_only_as_tasks

    reader, project_id = reader or project.store, project.home.project_id
    catalog = await load_catalog(reader, project_id, loaded.references)
    names_secrets = not loaded.written or b"secrets" in loaded.written
    if loaded.reading.bundle.models or names_secrets or calls_functions(loaded):
        catalog = replace(catalog, allowed=await load_allowed(reader, project_id))
    only_as_tasks = await load_tools_only_as_tasks(reader, project_id, loaded.reading.bundle, catalog)
    return replace(catalog, tools_only_as_tasks=only_as_tasks)


async def with_functions(catalog: "Catalog", loaded: "Loaded", functions: "FunctionRegistry | None") -> "Catalog":
    """Give a catalog with what is known of the Python functions that a definition calls."""
    # Only to store definitions, as in `read_definition`.
    from wonder.app.functions import known_functions

    files_root = catalog.allowed.project.files_root if catalog.allowed else None
    return replace(catalog, functions=await known_functions(functions, loaded, files_root))


def tools_of(project: OpenProject, kind: "McpToolKind | None" = None, *, for_runs: bool = False) -> "ToolDirectory":
    """Give what knows the tools of the project's MCP servers; an engine's `kind` keeps those that are started."""
    # Only to store definitions, as in `read_definition`.
    from wonder.app.tools import ToolDirectory

    return ToolDirectory(
        project.store,
        project.home.project_id,
        clock=project.clock,
        new_id=project.new_id,
        keys=project.keys,
        kind=kind,
        local=project.local,
        for_runs=for_runs,
    )


async def compile_definition(
    project: OpenProject,
    loaded: "Loaded",
    *,
    allow_mcp: Collection[str] = (),
    kind: "McpToolKind | None" = None,
    for_runs: bool = False,
) -> "Loaded":
    """Give a definition with its phase forms as graphs and its transforms compiled; its check reports the errors.

    The MCP servers in `allow_mcp` are approved, and asked for their tools if that is needed; raises NotFound.
    """
    if allow_mcp:
        # Takes time to load, and few definitions are given with approvals.
        from wonder.app.mcp_approvals import approve_named

        await approve_named(project, allow_mcp, loaded)
    if not loaded.needs_compiling:
        return loaded
    # Only to store definitions, as in `read_definition`.
    from wonder.app.phases import compile_loaded

    return await compile_loaded(loaded, tools_of(project, kind, for_runs=for_runs), project.transforms)


async def store_definition(
    project: OpenProject,
    loaded: "Loaded",
    *,
    allow_mcp: Collection[str] = (),
    kind: "McpToolKind | None" = None,
    for_runs: bool = False,
    public: bool = False,
    functions: "FunctionRegistry | None" = None,
) -> "tuple[Deployed, list[Fault]]":
    """Check and store a definition; give what it has become and its warnings, or raise DefinitionRefused.

    The libraries of a `public` one are public; raises NotPublic. The Python functions that it calls are looked for in
    `functions`.
    """
    # Only to store definitions, as in `read_definition`.
    from wonder.storage.deploying import deploy_bundle

    loaded = await compile_definition(project, loaded, allow_mcp=allow_mcp, kind=kind, for_runs=for_runs)
    # By the connection that writes: on SQLite every other one reads the whole schema anew after a deployment, which
    # takes longer with each workflow that is stored.
    async with project.store.transaction() as transaction:
        catalog = await load_catalog_for(project, loaded, transaction)
    known = await with_functions(catalog, loaded, functions)
    bundle, warnings = await beside(lambda: loaded.bundle(known), is_large=is_large(loaded))
    deployed = await deploy_bundle(
        project.store,
        bundle,
        catalog,
        project.home,
        clock=project.clock,
        new_id=project.new_id,
        allow_mcp=allow_mcp,
        public=public,
    )
    return deployed, warnings
