"""What is kept of the phase form: the text of its author, and the schemas that it was checked with (PHS-1, PHS-4)."""

from typing import Any

from msgspec import Struct

from wonder.definitions.drafts import PhaseDraft
from wonder.language.values import encode_json, parse_json
from wonder.storage.store import Reader, Transaction, Value
from wonder.storage.tables import MAX_STORED_BYTES


class StoredPhases(Struct, frozen=True):
    """The phase form of a workflow, at the version that its next run would have."""

    workflow: str
    version: int
    form: PhaseDraft


async def put_phase_form(transaction: Transaction, id: str, version: int, form: PhaseDraft) -> None:
    """Keep the phase form of a definition version, in the place of an earlier text of the same content."""
    schemas, tools = encode_json(form.schemas), encode_json(list(form.tools))
    await transaction.execute("put_phase_form", id, version, form.written, schemas, tools)


async def load_phase_form(reader: Reader, id: str, version: int) -> PhaseDraft | None:
    """Load the phase form of a definition version; None for one that was written as a graph."""
    rows = await reader.fetch("phase_form", id, version)
    return _read(*rows[0]) if rows else None


async def phase_forms_of_project(reader: Reader, project_id: str) -> list[StoredPhases]:
    """List the workflows of a project that were written in the phase form and are enabled."""
    found = []
    for name, version, *form in await reader.fetch("phase_forms_of_project", project_id):
        assert isinstance(version, int)
        found.append(StoredPhases(str(name), version, _read(*form)))
    return found


def _read(written: Value, schemas: Value, tools: Value) -> PhaseDraft:
    assert isinstance(written, bytes)
    return PhaseDraft(bytes(written), _json(schemas), _json(tools))


def _json(text: Value) -> Any:
    assert isinstance(text, str)
    return parse_json(text, max_bytes=MAX_STORED_BYTES)
