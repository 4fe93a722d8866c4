"""Definitions as they are written: the body is the definition itself, in JSON or YAML; its errors are a 400."""

from typing import Final

from msgspec import UNSET

from wonder.api.asgi import JSON, Answer, Request, json_answer
from wonder.api.bodies import parse_body
from wonder.api.problems import Problem
from wonder.api.routes import Route
from wonder.language.values import encode_json
from wonder.operations.definition_files import FaultRecord, read_definition
from wonder.operations.definitions import (
    DeployedFile,
    GivenFile,
    GivenFiles,
    StoredDefinition,
    StoredSchedule,
    deploy,
    validate,
)
from wonder.operations.outputs import Output

YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml")


class StoredDefinitions(Output, frozen=True):
    """What a definition has become: its parts, each with its version, and whether that is new."""

    definitions: list[StoredDefinition]
    schedules: list[StoredSchedule]
    warnings: list[FaultRecord]


def media_types(route: Route) -> tuple[str, ...]:
    """Give the types that a body of a route may have."""
    return (JSON, *YAML) if route.form in ("file form", "phase form") else (JSON,)


async def deploy_written(route: Route, request: Request, body: bytes) -> Answer:
    """Check, and store, the definition that is the body."""
    if not body:
        raise Problem(400, "BAD_BODY", "there is no body; send the definition")
    text = await _file(route, request, body)
    if route.form == "phase form":
        _check_phase_form(text)
    given = GivenFiles(files=[GivenFile(text=text, name="definition")])
    if route.declared.name == "definitions.validate":
        return json_answer(await validate(request.application, given))
    (file,) = (await deploy(request.application, given)).files
    return _stored(route, file)


async def _file(route: Route, request: Request, body: bytes) -> str:
    """Give the text of the definition file that a body is, or belongs into."""
    media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media_type != JSON:
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise Problem(400, "BAD_VALUE", f"the body is not UTF-8 at byte {error.start}") from None
    value = await parse_body(body)
    if not isinstance(value, dict):
        raise Problem(400, "BAD_BODY", "the body is not a JSON object; send the definition")
    if route.form == "library":
        return encode_json({"libraries": {request.parameters["library"]: value}})
    if route.form == "part":
        name = value.pop("name", None)
        if not isinstance(name, str):
            raise Problem(400, "BAD_BODY", "the body has no `name`; a definition is stored under its name")
        return encode_json({route.section: {name: value}})
    return body.decode()


def _check_phase_form(text: str) -> None:
    read = read_definition("definition", text.encode())
    if read.loaded is not None and not read.is_phase_form:
        message = "the body is no workflow in the phase form, which has `steps`; send definition files to …/bundles"
        raise Problem(400, "DEFINITION_REFUSED", message)


def _stored(route: Route, file: DeployedFile) -> Answer:
    if not file.stored:
        count = "1 error" if len(file.errors) == 1 else f"{len(file.errors)} errors"
        # The words of the source of the phase form.
        text = "Workflow validation failed" if route.form == "phase form" else f"the definition has {count}"
        raise Problem(400, "DEFINITION_REFUSED", text, errors=file.errors)
    stored = StoredDefinitions(
        definitions=[] if file.definitions is UNSET else file.definitions,
        schedules=[] if file.schedules is UNSET else file.schedules,
        warnings=file.warnings,
    )
    return json_answer(stored, 201)
