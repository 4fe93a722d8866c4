"""Phase workflows on their way into the store: what they need is asked for, they are checked, and become graphs.

Transforms of graphs are compiled on the same way, so that a mistake in one is told before anything is stored.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from msgspec.structs import replace

from wonder.app.phase_faults import PhaseReading, read_phase_form
from wonder.app.tools import KnownTools, Servers, ToolDirectory, all_of
from wonder.definitions.drafts import CompiledPhases, PhaseDraft
from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.phase_form import PhaseForm
from wonder.definitions.loading import Loaded
from wonder.language.values import encode_json
from wonder.phases.checking import check
from wonder.phases.compiling import compile_phases
from wonder.phases.known import Known, ToolName, ToolSchemas, TransformTypes, TypeFault
from wonder.phases.needs import Needs, needs
from wonder.phases.records import PhaseWorkflow
from wonder.sandbox.typescript import CompiledTransform, InvalidTypeScript
from wonder.sandbox.typescript_process import CompileBudget

Types = dict[str, TransformTypes | tuple[TypeFault, ...]]
"""The types of transforms by their sources, or what is wrong with them."""


class TransformCompiler(Protocol):
    """What compiles transforms, each once."""

    async def compiled(self, source: str, budget: CompileBudget | None = None) -> CompiledTransform:
        """Give a transform's JavaScript and schemas, at the cost of a budget; raises InvalidTypeScript."""


async def compile_loaded(loaded: Loaded, directory: ToolDirectory, transforms: TransformCompiler) -> Loaded:
    """Give a definition with graphs in the places of its phase forms; what is wrong with it is told when checked."""
    budget = CompileBudget()
    if loaded.phases and not loaded.is_compiled:
        readings = [read_phase_form(form) for form in loaded.phases.forms]
        workflows = [reading.workflow for reading in readings if reading.workflow]
        servers: dict[str, Any] = dict(loaded.reading.bundle.mcp_servers)
        for workflow in workflows:
            servers |= workflow.mcp_servers
        known = await learn(map(needs, workflows), servers, directory, transforms, budget=budget)
        written = loaded.phases.mcp_servers
        unreadable = written.keys() - servers.keys() if isinstance(written, dict) else ()
        compiled: dict[Path, CompiledPhases] = {}
        faults: list[Fault] = []
        for reading in readings:
            found, one = _compile(reading, known, loaded.written, unreadable)
            faults += found
            if one:
                compiled[reading.form.path] = one
        loaded = loaded.compiled(compiled, faults)
        loaded.reading.bundle.server_ids = dict(directory.ids)
    return await _with_transforms(loaded, transforms, budget)


async def learn(
    wanted: Iterable[Needs],
    servers: Servers,
    directory: ToolDirectory,
    transforms: TransformCompiler,
    *,
    budget: CompileBudget,
    anew: bool = False,
) -> Known:
    """Ask for all that checks need: servers for their tools, the compiler for the types of transforms."""
    all_needs = list(wanted)
    tools: set[ToolName] = set().union(*(one.tools for one in all_needs))
    sources: set[str] = set().union(*(one.transforms for one in all_needs))
    # At the same time: a server and the compiler both take a while to start.
    compiling = asyncio.create_task(_types(sources, transforms, budget))
    try:
        known = await directory.schemas(sorted(tools), servers, anew=anew)
        return Known(known, await compiling)
    finally:
        compiling.cancel()


def tools_of(workflow: PhaseWorkflow, known: KnownTools) -> list[dict[str, Any]]:
    """Give the tools that a workflow uses, as they are known."""
    found = []
    for name in sorted(needs(workflow).tools):
        tool = known.get(name)
        if isinstance(tool, ToolSchemas):
            found.append(
                {"server": name.connection_id, "tool": name.tool_name, "input": tool.input, "output": tool.output}
            )
    return found


def _compile(
    reading: PhaseReading, known: Known, written: bytes, unreadable: Collection[str]
) -> tuple[list[Fault], CompiledPhases | None]:
    faults = list(reading.faults)
    if reading.workflow is None:
        return faults, None
    checked = check(reading.workflow, known)
    faults += reading.faults_of(checked.errors, unreadable)
    if faults or checked.errors:
        # What was not checked may be wrong as well: the author who corrects the rest should know.
        return [*faults, *reading.unchecked(known.tools)], None
    faults = [*reading.warnings(), *reading.unchecked(known.tools)]
    kept = PhaseDraft(_written(reading.form, written), checked.cached(), tools_of(reading.workflow, dict(known.tools)))
    return faults, CompiledPhases(compile_phases(reading.workflow, checked), kept)


def _written(form: PhaseForm, text: bytes) -> bytes:
    """Give the text of a phase form: the whole file, if that is nothing else, and otherwise its part of it as JSON."""
    return text if form.path == () else encode_json(form.value).encode()


async def _types(sources: set[str], transforms: TransformCompiler, budget: CompileBudget) -> Types:
    async def of(source: str) -> TransformTypes | tuple[TypeFault, ...]:
        try:
            compiled = await transforms.compiled(source, budget)
        except InvalidTypeScript as error:
            return tuple(TypeFault(fault.message, fault.line, fault.column) for fault in error.faults)
        return TransformTypes(compiled.input_schema, compiled.output_schema)

    ordered = sorted(sources)
    return dict(zip(ordered, await all_of(map(of, ordered)), strict=True))


async def _with_transforms(loaded: Loaded, transforms: TransformCompiler, budget: CompileBudget) -> Loaded:
    """Compile the transforms of actions, and add to the faults what is wrong with them."""
    places = dict(loaded.reading.bundle.transforms())
    if not places:
        return loaded
    types = await _types(set(places.values()), transforms, budget)
    found = [
        Fault("invalid_typescript", path, fault.message, inside=(fault.line, fault.column))
        for path, source in places.items()
        if not isinstance(faults := types[source], TransformTypes)
        for fault in faults
    ]
    if found:
        of_file = [loaded.reading.original(fault) for fault in found]
        if loaded.phases:
            of_file = [replace(fault, path=loaded.phases.source_path(fault.path)) for fault in of_file]
        loaded.reading.faults.extend(of_file)
    return loaded
