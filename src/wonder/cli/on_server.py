"""Definition files that a server checks, stores and runs."""

from argparse import Namespace

from wonder.app.application import Application
from wonder.cli.files import NothingToRun
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import print_faults
from wonder.cli.own_output import say
from wonder.cli.report import follow_run
from wonder.cli.settings import database_setting, tenant_setting
from wonder.definitions.faults import DefinitionRefused
from wonder.language.values import JsonValue
from wonder.operations.definition_files import DefinitionFile, FaultRecord, fault_records
from wonder.operations.definitions import (
    DeployedFile,
    Deployment,
    GivenFile,
    GivenFiles,
    deploy,
    deploy_public,
    validate,
)
from wonder.operations.run_orders import Start, start_run


async def validate_on_server(given: Namespace, files: list[DefinitionFile]) -> None:
    """Have files checked; the faults of each that could be read here are what the server has found."""
    sent = _readable(files)
    async with open_app(database_setting(given.db).value, **tenant_setting(given)) as app:
        found = await validate(app, _given(sent, given))
    for file, checked in zip(sent, found.files, strict=True):
        _take(file, checked.errors + checked.warnings)


async def deploy_on_server(app: Application, given: Namespace, files: list[DefinitionFile]) -> Deployment:
    """Have files stored; the faults of each that could be read here are what the server has found."""
    sent = _readable(files)
    answer = await (deploy_public if given.public else deploy)(app, _given(sent, given))
    stored = dict(zip(map(id, sent), answer.files, strict=True))
    results = []
    for file in files:
        if found := stored.get(id(file)):
            _take(file, found.errors + found.warnings)
        errors = fault_records(file.faults, "error")
        results.append(found or DeployedFile(file=file.name, stored=False, errors=errors, warnings=[]))
    return Deployment(files=results)


async def run_on_server(given: Namespace, run_input: JsonValue, file: DefinitionFile | None) -> int:
    """Have a file stored and run, or a stored workflow, and show the run until it ends or waits for somebody.

    Raises DefinitionRefused.
    """
    async with open_wonder(database_setting(given.db).value, **tenant_setting(given)) as wonder:
        name = given.file if file is None else await _deployed(wonder, given, file)
        started = await start_run(wonder, Start(workflow=name, input=run_input, idempotency_key=given.key))
        return await follow_run(wonder, started.run_id, as_json=given.json, to_the_end=given.wait)


async def _deployed(wonder: Application, given: Namespace, file: DefinitionFile) -> str:
    """Have a file stored, and give the version of its workflow that is to run."""
    (deployed,) = (await deploy(wonder, _given([file], given))).files
    _take(file, deployed.errors + deployed.warnings)
    if not deployed.stored:
        raise DefinitionRefused(file.faults)
    if not deployed.workflow:
        raise NothingToRun(file.name)
    if not given.json:
        print_faults(file.faults, file.lines)
    workflow = deployed.workflow
    versions = [one.version for one in deployed.definitions or [] if one.id == workflow.workflow_def_id]
    if workflow.pinned_version not in (None, *versions) and not given.json:
        pinned = f"{workflow.name} is pinned to version {workflow.pinned_version}"
        say(f"{pinned}; this run has version {versions[0]}, the file's")
    return f"{workflow.id}@{versions[0]}" if versions else workflow.id


def _given(files: list[DefinitionFile], given: Namespace) -> GivenFiles:
    texts = [GivenFile(name=file.name, text="\n".join(file.lines)) for file in files]
    return GivenFiles(files=texts, allow_mcp=given.allow_mcp)


def _readable(files: list[DefinitionFile]) -> list[DefinitionFile]:
    """Give the files that are here: what is wrong with the others is known already."""
    return [file for file in files if file.lines]


def _take(file: DefinitionFile, records: list[FaultRecord]) -> None:
    from wonder.client.refusals import faults_of  # only with a server

    file.faults = faults_of(records)
