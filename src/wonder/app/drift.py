"""Tools that have changed since workflows were checked with them, and the workflows that a change breaks (PHS-4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wonder.app.deploying import tools_of
from wonder.app.phase_faults import read_phase_form
from wonder.app.phases import learn
from wonder.app.project import OpenProject
from wonder.definitions.file_form.phase_form import find_phase_forms
from wonder.definitions.source import read_source
from wonder.phases.checking import check
from wonder.phases.errors import PhaseError
from wonder.phases.known import ToolName, ToolSchemas, Unchecked
from wonder.phases.needs import needs
from wonder.phases.records import PhaseWorkflow
from wonder.sandbox.typescript_process import CompileBudget
from wonder.storage.phase_forms import StoredPhases, phase_forms_of_project

State = Literal["same", "changed", "unknown", "unchecked"]


@dataclass(frozen=True)
class BrokenWorkflow:
    """A workflow that would not be accepted with its tools as they are now."""

    workflow: str
    version: int
    errors: tuple[PhaseError, ...]


@dataclass(frozen=True)
class ToolReport:
    """How a tool stands to what workflows were checked with; `reason` says why one is unknown or was not asked for."""

    name: ToolName
    state: State
    used_by: tuple[str, ...]
    breaks: tuple[BrokenWorkflow, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class _Look:
    stored: StoredPhases
    workflow: PhaseWorkflow
    errors: tuple[PhaseError, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.stored.workflow}@{self.stored.version}"


async def report_tools(app: OpenProject) -> list[ToolReport]:
    """Ask the approved servers of all enabled phase workflows for their tools again, and report on each tool."""
    looks = [
        _Look(stored, workflow)
        for stored in await phase_forms_of_project(app.store, app.home.project_id)
        if (workflow := _workflow(stored))
    ]
    wanted = [needs(look.workflow) for look in looks]
    # No server of a file: those that the project has now are what runs would call.
    # Without a limit in all: an operator looks at every workflow that is stored, and each source still has its own.
    budget = CompileBudget(math.inf)
    known = await learn(wanted, {}, tools_of(app), app.transforms, budget=budget, anew=True)
    looks = [_Look(look.stored, look.workflow, check(look.workflow, known).errors) for look in looks]
    names = sorted({name for one in wanted for name in one.tools})
    return [_report(name, known.tools[name], looks) for name in names]


def _workflow(stored: StoredPhases) -> PhaseWorkflow | None:
    phases = find_phase_forms(read_source(stored.form.written, stored.workflow).value)
    form = phases.forms[0] if phases else None
    return read_phase_form(form, stored.workflow).workflow if form else None


def _report(name: ToolName, now: ToolSchemas | Unchecked | str, looks: Sequence[_Look]) -> ToolReport:
    users = [look for look in looks if name in needs(look.workflow).tools]
    titles = tuple(look.title for look in users)
    if isinstance(now, Unchecked):
        return ToolReport(name, "unchecked", titles, reason=now.reason)
    if isinstance(now, str):
        return ToolReport(name, "unknown", titles, reason=now)
    if all(_fits(look, name, now) for look in users):
        return ToolReport(name, "same", titles)
    broken = [
        BrokenWorkflow(look.stored.workflow, look.stored.version, look.errors)
        for look in users
        if look.errors and not _fits(look, name, now)
    ]
    return ToolReport(name, "changed", titles, tuple(broken))


def _fits(look: _Look, name: ToolName, now: ToolSchemas) -> bool:
    """Say whether a tool is what a workflow was checked with; one that was never checked has to have no errors."""
    kept = _as_kept(look, name)
    return not look.errors if kept is None else kept == now


def _as_kept(look: _Look, name: ToolName) -> ToolSchemas | None:
    for tool in look.stored.form.tools:
        if (tool["server"], tool["tool"]) == name:
            return ToolSchemas(tool["input"], tool["output"])
    return None
