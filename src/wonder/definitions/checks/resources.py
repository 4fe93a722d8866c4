"""Checks of prompts and artifact types."""

from wonder.definitions.checks.findings import Findings
from wonder.definitions.checks.lookup import BUILT_IN_ARTIFACT_TYPE
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.records.resources import PromptBody
from wonder.language.schemas import compile_validator


def check_prompt(prompt: PromptBody, path: Path, findings: Findings) -> None:
    """Note what is wrong with a prompt: its templates, its schemas, and examples that don't fit them."""
    check_template(prompt.system_prompt, (*path, "system_prompt"), findings)
    check_template(prompt.template, (*path, "template"), findings)
    for name, part in (("requires", "input"), ("produces", "output")):
        schema = getattr(prompt, name)
        validator = compile_validator(schema)
        for i, example in enumerate(prompt.examples or []):
            for fault in validator.faults(getattr(example, part)):
                where = (*path, "examples", i, part, *fault.path)
                message = f"the example does not fit '{name}': {fault.message}"
                findings.error("example_misfit", where, message, "correct the example or the schema")


def check_artifact_type(path: Path, findings: Findings) -> None:
    """Note what is wrong with an artifact type."""
    if path[-1] == BUILT_IN_ARTIFACT_TYPE:
        findings.error("built_in_name", path, f"'{BUILT_IN_ARTIFACT_TYPE}' is built in", "choose another name")
