"""Checks of prompts and artifact types."""

from wonder.definitions.checks.lookup import BUILT_IN_ARTIFACT_TYPE
from wonder.definitions.checks.secret_places import SECRETS
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.resources import PromptBody
from wonder.errors import WonderError
from wonder.language.schemas import Schema, closest, compile_validator, shape_at
from wonder.language.templates import compile_template
from wonder.language.values import show_path


def check_prompt(prompt: PromptBody, path: Path, findings: Findings) -> None:
    """Note what is wrong with a prompt: its templates, its schemas, and examples that don't fit them."""
    for field in ("system_prompt", "template"):
        check_template(getattr(prompt, field), (*path, field), findings)
        _check_names(getattr(prompt, field), prompt.requires, (*path, field), findings)
    for name, part in (("requires", "input"), ("produces", "output")):
        schema = getattr(prompt, name)
        validator = compile_validator(schema)
        for i, example in enumerate(prompt.examples or []):
            for fault in validator.faults(getattr(example, part)):
                where = (*path, "examples", i, part, *fault.path)
                message = f"the example does not fit '{name}': {fault.message}"
                findings.error("example_misfit", where, message, "correct the example or the schema")


def _check_names(text: str | None, requires: Schema, where: Path, findings: Findings) -> None:
    """Note what a template of a prompt reads though `requires` has no place for it."""
    try:
        names = compile_template(text or "").names
    except WonderError:
        return  # noted already
    for name in names:
        # A template reads the input as a whole by that name, and each of its fields by its own.
        read = up_to_element(name[1:] if name[:1] == ("input",) else name)
        if not read or name[0] == SECRETS:
            continue
        shape = shape_at(requires, read)
        if shape.kind == "absent":
            assert shape.at is not None
            missing = str(read[shape.at])
            near = closest(missing, shape.available)
            hint = f"did you mean '{near}'?" if near else f"add '{missing}' to requires, or correct the template"
            message = f"'{show_path(name)}' does not exist: requires has no '{missing}'"
            findings.error("unknown_field", where, message, hint)


def up_to_element(name: Path) -> Path:
    """Leave out of a path what may be an element or the length of a list or a text, of which no schema speaks."""
    for i, part in enumerate(name):
        if part == "length" or str(part).isdigit():
            return name[:i]
    return name


def check_artifact_type(path: Path, findings: Findings) -> None:
    """Note what is wrong with an artifact type."""
    if path[-1] == BUILT_IN_ARTIFACT_TYPE:
        findings.error("built_in_name", path, f"'{BUILT_IN_ARTIFACT_TYPE}' is built in", "choose another name")
