"""Checks a whole bundle, and gives all faults in the order of the document."""

from contextlib import suppress

from wonder.definitions.catalog import Catalog
from wonder.definitions.checks.actions import check_action
from wonder.definitions.checks.allowed_models import check_allowed
from wonder.definitions.checks.bound_workflows import check_bound_workflow
from wonder.definitions.checks.functions import check_function
from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.checks.models import check_model
from wonder.definitions.checks.resources import check_artifact_type, check_prompt
from wonder.definitions.checks.schedules import check_schedule
from wonder.definitions.checks.schemas import check_schemas
from wonder.definitions.checks.secret_places import check_secret_places, check_secrets_of_project
from wonder.definitions.checks.secret_uses import check_secret_uses
from wonder.definitions.checks.servers import check_server, check_tool_call
from wonder.definitions.checks.tasks import check_task
from wonder.definitions.checks.triggers import check_triggers
from wonder.definitions.checks.vector_indexes import check_vector_index
from wonder.definitions.checks.workflows import check_workflow
from wonder.definitions.drafts import Definitions
from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.reading import Reading
from wonder.definitions.findings import Findings, TooManyErrors


def check_bundle(reading: Reading, catalog: Catalog) -> list[Fault]:
    """Note all that is wrong with what was read, besides the faults of its shape."""
    findings = Findings()
    with suppress(TooManyErrors):
        _check(reading, catalog, findings)
    return [reading.original(fault) for fault in findings.faults]


def _check(reading: Reading, catalog: Catalog, findings: Findings) -> None:
    bundle = reading.bundle
    check_schemas(bundle.definitions, (), findings)
    for name, library in bundle.libraries.items():
        check_schemas(library.definitions, ("libraries", name), findings)
    lookup = Lookup(reading, bundle.definitions, catalog)
    _check_definitions(bundle.definitions, lookup, reading, catalog, (), findings)
    for name, library in bundle.libraries.items():
        section: Path = ("libraries", name)
        library_lookup = Lookup(reading, library.definitions, catalog, section)
        _check_definitions(library.definitions, library_lookup, reading, catalog, section, findings)
    for name, model in bundle.models.items():
        check_model(model, ("models", name), findings)
        if catalog.allowed:
            check_allowed(model, catalog.allowed, ("models", name), findings)
    for name, server in bundle.mcp_servers.items():
        check_server(server, ("mcp_servers", name), findings)
    check_secrets_of_project(bundle, findings)
    if catalog.allowed:
        check_secret_uses(bundle, catalog.allowed, findings)
    for index in bundle.vector_indexes.values():
        check_vector_index(index, lookup, findings)
    for bound in bundle.bound_workflows.values():
        check_bound_workflow(bound, lookup, findings)
    for schedule in bundle.schedules.values():
        check_schedule(schedule, lookup, reading, findings)


def _check_definitions(
    definitions: Definitions, lookup: Lookup, reading: Reading, catalog: Catalog, section: Path, findings: Findings
) -> None:
    for action in definitions.actions.values():
        check_action(action, findings)
        check_tool_call(action, catalog, findings)
        check_function(action, catalog, findings)
        for reference in action.references:
            lookup.check(reference, findings)
    for task in definitions.tasks.values():
        check_task(task, lookup, findings)
    for workflow in definitions.workflows.values():
        check_workflow(workflow, lookup, reading, findings)
        check_triggers(workflow, definitions.workflows, lookup, findings)
    for name, prompt in definitions.prompts.items():
        check_prompt(prompt, (*section, "prompts", name), findings)
    check_secret_places(definitions, section, findings)
    for name in definitions.artifact_types:
        check_artifact_type((*section, "artifact_types", name), findings)
