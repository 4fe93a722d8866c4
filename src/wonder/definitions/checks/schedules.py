"""Checks of schedules: when they come, and what they give to the runs that they start."""

from contextlib import suppress

from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.drafts import ScheduleDraft
from wonder.definitions.file_form.reading import Reading
from wonder.definitions.findings import Findings
from wonder.definitions.planning import planned_times
from wonder.definitions.records.graph import WorkflowBody
from wonder.language.schedules import (
    REFS,
    UTC,
    ZONES,
    BadCron,
    BadMoment,
    Zone,
    fill_input,
    input_refs,
    parse_cron,
    parse_moment,
)
from wonder.language.schemas import BadSchema, closest, compile_defaults, compile_validator
from wonder.language.values import show_path

# A planned time to try an input with, if a schedule has none of its own: the start of 2026.
_SAMPLE_MS = 1_767_225_600_000


def check_schedule(schedule: ScheduleDraft, lookup: Lookup, reading: Reading, findings: Findings) -> None:
    """Note what a schedule says that never comes, or that its workflow would refuse."""
    lookup.check(schedule.workflow, findings)
    if schedule.is_unnamed and not _was_workflow_cut(reading):
        message = "it names no workflow, and the file has no 'workflow' of its own"
        hint = "add 'workflow' with the name of the one to start"
        findings.error("missing_field", (*schedule.path, "workflow"), message, hint)
    if schedule.workflow and not lookup.is_of_project(schedule.workflow):
        message = f"'{schedule.workflow}' is a library's, and a schedule starts a workflow of the project"
        hint = f"bind it to a workflow of the project, with: wonder workflows bind NAME {schedule.workflow}"
        findings.error("bad_reference", schedule.workflow.path, message, hint)
    zone = ZONES.find(schedule.body.time_zone)
    if zone is None:
        message = f"there is no time zone '{schedule.body.time_zone}'"
        findings.error("bad_time_zone", (*schedule.path, "time_zone"), message, _zone_hint(schedule.body.time_zone))
    planned_ms = _check_times(schedule, zone or UTC, findings)
    for path, ref in input_refs(schedule.body.input):
        if ref not in REFS:
            known = ", ".join(REFS)
            hint = f"write one of {known}, or @{ref} for the string itself"
            findings.error("missing_ref", (*schedule.path, "input", *path), f"a schedule knows no '{ref}'", hint)
    if workflow := lookup.workflow(schedule.workflow):
        _check_input(schedule, workflow, planned_ms or _SAMPLE_MS, zone or UTC, findings)


def _zone_hint(name: str) -> str:
    near = next((zone for zone in ZONES.names() if zone.lower() == name.lower()), None) or closest(name, ZONES.names())
    # Only of those that are called after places: PST is not nearly EST, nor is UTC+2 nearly UTC.
    if near and ("/" in near or near.lower() == name.lower()):
        return f"did you mean '{near}'?"
    return "write one of the IANA database, such as Europe/Berlin or UTC"


def _was_workflow_cut(reading: Reading) -> bool:
    """Say whether the main workflow may be missing only because it could not be read, or not be compiled."""
    cuts = reading.pruning.cuts if reading.pruning else ()
    return any(cut[:1] in ((), ("workflow",), ("workflows",)) for cut in cuts)


def _check_times(schedule: ScheduleDraft, zone: Zone, findings: Findings) -> int | None:
    """Note times that can't be read or never come; give the first of them otherwise."""
    body, moments = schedule.body, dict[str, int]()
    is_readable = True
    for field in ("starts_at", "ends_at"):
        if (text := getattr(body, field)) is not None:
            try:
                moments[field] = parse_moment(text, zone)
            except BadMoment as error:
                hint = "write 2030-01-31, or 2030-01-31T08:00:00Z"
                findings.error("bad_moment", (*schedule.path, field), f"'{text}': {error.reason}", hint)
                is_readable = False
    if body.cron is not None:
        try:
            parse_cron(body.cron)
        except BadCron as error:
            hint = "five fields, such as 30 2 * * mon-fri, or @daily"
            findings.error("bad_cron", (*schedule.path, "cron"), str(error), hint)
            is_readable = False
    if not is_readable:
        return None
    first_ms = planned_times(body, zone).after(moments.get("starts_at", _SAMPLE_MS) - 1)
    if body.ends_at is not None and planned_times(body, zone).before(moments["ends_at"] + 1) is None:
        message = "no time is planned before its end"
        findings.error("never_comes", (*schedule.path, "ends_at"), message, "choose a later end, or leave it out")
    return first_ms


def _check_input(
    schedule: ScheduleDraft, workflow: WorkflowBody, planned_ms: int, zone: Zone, findings: Findings
) -> None:
    """Try the input as it would be at one of the planned times: refs give texts of the same form at all of them."""
    given = fill_input(schedule.body.input, planned_ms, zone, schedule.name)
    with suppress(BadSchema):  # told where the schema stands
        filled = compile_defaults(workflow.input_schema)(given)
        for fault in compile_validator(workflow.input_schema).faults(filled):
            where = f" at {show_path(fault.path)}" if fault.path else ""
            message = f"the workflow '{schedule.workflow}' would refuse this input{where}: {fault.message}"
            findings.error("input_refused", (*schedule.path, "input"), message, "correct the input")
