"""Diagnosis: whether the database is intact, what is exposed, and whether tools are still what workflows expect."""

from typing import Any

from msgspec import UNSET, UnsetType

from wonder.app.application import Application
from wonder.app.drift import ToolReport, report_tools
from wonder.app.exposure import report_exposure
from wonder.operations.databases import FindingRecord, finding_record
from wonder.operations.declaring import NoInput, operation
from wonder.operations.engine_status import EngineQuestion, EngineStatus, engine_status
from wonder.operations.outputs import Output
from wonder.storage.check import check_database
from wonder.storage.runs.deaths import quarantined_runs
from wonder.storage.url import parse_url


class BrokenWorkflow(Output, frozen=True):
    """A workflow that would not be accepted with its tools as they are now."""

    workflow: str
    version: int
    errors: list[Any]
    """In the shape of the phase form."""
    messages: list[str]


class ToolState(Output, frozen=True):
    """How a tool stands to what workflows were checked with: `same`, `changed`, `unknown` or `unchecked`."""

    server: str
    tool: str
    state: str
    used_by: list[str]
    breaks: list[BrokenWorkflow]
    reason: str | UnsetType = UNSET
    """Why it is unknown or was not asked for."""


class Diagnosis(Output, frozen=True):
    """What was found."""

    address: str
    """Where the database is, without a password."""
    database: list[FindingRecord]
    exposure: list[FindingRecord]
    tools: list[ToolState]
    engine: EngineStatus
    quarantined_runs: list[str]

    @property
    def is_well(self) -> bool:
        """Whether nothing is broken."""
        sound = not any(finding.severity == "error" for finding in self.database)
        return sound and not any(tool.breaks or tool.state == "unknown" for tool in self.tools)


@operation("system.diagnose", role="admin", reach="server")
async def diagnose(application: Application, given: NoInput) -> Diagnosis:
    """Check the database, what is exposed, and the tools that workflows use."""
    store = application.store
    return Diagnosis(
        address=store.address,
        database=[finding_record(one) for one in await check_database(store)],
        tools=[_tool(one) for one in await report_tools(application)],
        engine=await engine_status(application, EngineQuestion()),
        exposure=[
            finding_record(one) for one in await report_exposure(application, application.url, application.objects_url)
        ],
        quarantined_runs=await quarantined_runs(store, application.home.project_id),
    )


def without_password(url: str) -> str:
    """Give the address of a database as it can be shown; raises BadDatabaseUrl."""
    return parse_url(url).shown


def _tool(report: ToolReport) -> ToolState:
    return ToolState(
        server=report.name.connection_id,
        tool=report.name.tool_name,
        state=report.state,
        used_by=list(report.used_by),
        breaks=[
            BrokenWorkflow(
                workflow=one.workflow,
                version=one.version,
                errors=[error.to_json() for error in one.errors],
                messages=[str(error) for error in one.errors],
            )
            for one in report.breaks
        ],
        reason=report.reason or UNSET,
    )
