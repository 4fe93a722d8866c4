"""Kinds of action: what each takes and gives, with an example, and the JSON Schema of definition files."""

from dataclasses import asdict
from typing import Any

from wonder.actions.announcing import announce_kinds
from wonder.actions.errors import UnknownKind
from wonder.actions.guide import KindGuide, all_guides
from wonder.app.application import Application
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.operations.declaring import Input, NoInput, operation
from wonder.operations.outputs import Output
from wonder.phases.records import PhaseWorkflow


class KindField(Output, frozen=True):
    """A field of a kind's configuration."""

    name: str
    type: str
    required: bool
    default: Any
    may_hold_secrets: bool
    note: str


class KindRecord(Output, frozen=True):
    """A kind of action."""

    kind: str
    summary: str
    gives: str
    fields: list[KindField]
    example: str
    package: str | None
    """The package that adds it; null for those of Wonder itself."""
    errors: list[str]
    """The codes of the errors that are its own."""


class KindList(Output, frozen=True):
    """All kinds that definitions may use."""

    kinds: list[KindRecord]


@operation("kinds.list", role="viewer")
async def list_kinds(application: Application, given: NoInput) -> KindList:
    """List the kinds of action that definitions may use."""
    return all_kinds()


class OneKind(Input, frozen=True):
    """A kind of action."""

    kind: str


@operation("kinds.show", role="viewer")
async def show_kind(application: Application, given: OneKind) -> KindRecord:
    """Show a kind of action: its configuration, what it gives, and an example."""
    return find_kind(given.kind)


class FileSchema(Output, frozen=True):
    """The JSON Schema of definition files."""

    document: Any


@operation("definitions.schema", role="viewer")
async def show_file_schema(application: Application, given: NoInput) -> FileSchema:
    """Give the JSON Schema of definition files, for editors."""
    return FileSchema(document=file_schema())


def all_kinds() -> KindList:
    """Give all kinds; no database is needed for that."""
    return KindList(kinds=[_record(guide) for guide in all_guides()])


def find_kind(name: str) -> KindRecord:
    """Give a kind by its name; raises UnknownKind."""
    kinds = all_kinds().kinds
    found = next((one for one in kinds if one.kind == name), None)
    if found is None:
        raise UnknownKind(name, [one.kind for one in kinds])
    return found


def file_schema() -> Any:
    """Give the JSON Schema of definition files; no database is needed for that."""
    announce_kinds()
    return file_form_schema(PhaseWorkflow)


def _record(guide: KindGuide) -> KindRecord:
    written = asdict(guide)
    written["fields"] = [KindField(**field) for field in written["fields"]]
    written["errors"] = list(written["errors"])
    return KindRecord(**written)
