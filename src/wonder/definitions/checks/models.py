"""Checks of models: what they say of their provider is what that provider takes."""

from pydantic import ValidationError

from wonder.definitions.checks.servers import note_address, note_header
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.file_form.record_faults import record_faults
from wonder.definitions.findings import Findings
from wonder.definitions.records.fields import Record
from wonder.definitions.records.providers import CONFIGURATIONS, ExecutionConfig, MockConfig, ScriptedAnswer, says_more
from wonder.definitions.records.resources import ModelProfileBody
from wonder.errors import WonderError
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue

_SECRET = "{{secrets.NAME}}"  # noqa: S105  # a form, no secret


def check_model(model: ModelProfileBody, path: Path, findings: Findings) -> None:
    """Note what is wrong with a model's `execution_config`."""
    where = (*path, "execution_config")
    given = model.execution_config or {}
    config = _read(CONFIGURATIONS[model.provider], given, where, findings)
    match config:
        case ExecutionConfig():
            for name in ("api_key", "base_url", "account_id"):
                _check_text(given.get(name), (*where, name), findings)
            for name, text in config.headers.items():
                _check_text(text, (*where, "headers", name), findings)
                note_header(name, text, (*where, "headers", name), findings)
            _check_address(config, model.provider, where, findings)
        case MockConfig():
            for i, answer in enumerate(config.answers):
                if says_more(answer):
                    _read(ScriptedAnswer, answer, (*where, "answers", i), findings)


def _read(record: type[Record], given: JsonValue, where: Path, findings: Findings) -> Record | None:
    try:
        return record.model_validate(given)
    except ValidationError as error:
        for fault in record_faults(error, record, given, where):
            findings.error(fault.code, fault.path, fault.message, fault.hint)
        return None


def _check_text(text: JsonValue, where: Path, findings: Findings) -> None:
    if not isinstance(text, str):
        return
    try:
        names = compile_template(text).names
    except WonderError:
        check_template(text, where, findings)
        return
    # Whether secrets may stand here at all is checked with all other places of them.
    if read := next((name for name in names if name[0] != "secrets"), None):
        message = f"'{read[0]}' does not exist: a model is read when it is used, without an input"
        findings.error("unknown_name", where, message, f"write {_SECRET}, or the value itself")
    elif where[-2] != "headers" and ("\r" in text or "\n" in text.strip()):
        findings.error("bad_header", where, f"'{where[-1]}' has a line break in it", "write it on one line")


def _check_address(config: ExecutionConfig, provider: str, where: Path, findings: Findings) -> None:
    address = config.base_url
    if address is None:
        if provider == "local":
            hint = "add the address of the server: base_url: http://localhost:8080/v1"
            findings.error("missing_field", where, "a local model needs 'base_url' in its execution_config", hint)
    elif "{{" not in address:
        note_address(address, (*where, "base_url"), findings)
