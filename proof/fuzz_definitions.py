"""Targets for definitions beyond the file form: workflows in the phase form, and the tables that schemas become."""

from contextlib import closing
from typing import Any, Final

import apsw

from wonder.actions.announcing import announce_kinds
from wonder.app.phase_faults import read_phase_form, refusal
from wonder.app.phases import _compile as compile_phase_form
from wonder.context.plan import plan_context
from wonder.definitions.catalog import Catalog
from wonder.definitions.drafts import CompiledPhases
from wonder.definitions.faults import Fault, Path
from wonder.definitions.loading import load_text
from wonder.language.schemas import schema_faults
from wonder.language.values import canonical_json, check_value, encode_json, parse_json
from wonder.phases.known import Known, ToolSchemas, TransformTypes, TypeFault, Unchecked
from wonder.phases.needs import needs
from wonder.storage.postgresql.query_syntax import _parser
from wonder.storage.queries import for_dialect

_ITEM: Final[Any] = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
_TOOL: Final[Any] = ToolSchemas(
    {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "number"}}, "required": ["q"]},
    {"type": "object", "properties": {"items": {"type": "array", "items": _ITEM}}, "required": ["items"]},
)
_OPEN_TOOL: Final = ToolSchemas({"type": "object"}, None)
_TRANSFORM: Final = TransformTypes(_TOOL.output, {"type": "array", "items": _ITEM})
_RUNS: Final = """
    CREATE TABLE runs (id TEXT, workflow_def_id TEXT, workflow_version INTEGER);
    INSERT INTO runs VALUES ('run', 'w', 1);
"""


def phase_form(data: bytes) -> None:
    """Check a workflow in the phase form, compile it to a graph, and check that."""
    announce_kinds()
    loaded = load_text(data, "fuzz.yaml")
    if loaded.phases is None:
        return
    compiled: dict[Path, CompiledPhases] = {}
    faults: list[Fault] = []
    for form in loaded.phases.forms:
        reading = read_phase_form(form)
        found, one = compile_phase_form(reading, _known(reading.workflow), loaded.written, ())
        faults += found
        if one:
            compiled[form.path] = one
    check_value(parse_json(encode_json(refusal(faults))))
    checked = loaded.compiled(compiled, faults)
    for fault in checked.check(Catalog()):
        encode_json(fault.as_json())


def context_tables(data: bytes) -> None:
    """Make tables and a view of a schema, and store a value in them: what is read is what was stored."""
    given: Any = parse_json(data)
    has_both = isinstance(given, dict) and "schema" in given
    schema, value = (given["schema"], given.get("value")) if has_both else (given, given)
    if [*schema_faults(schema)]:
        return
    before: Any = {"input": value, "state": value, "output": given}
    after: Any = {"input": value, "state": given, "output": value}
    for shared in (False, True):
        plan = plan_context("context_w_1", context_schema=schema, output_schema=schema, shared=shared)
        view = plan.view("sqlite", "context_'a' \"view\"", ("w", 1))
        with closing(apsw.Connection(":memory:")) as connection:
            connection.execute(_RUNS)
            for statement in [*plan.ddl("sqlite"), *view]:
                connection.execute(statement)
            for statement, rows in [*plan.insert("run", before), *plan.changes("run", before, after)]:
                connection.executemany(for_dialect(statement, "sqlite"), rows)
            answers = [list(connection.execute(statement, ("run",))) for statement in plan.select()]
            assert len(list(connection.execute('SELECT * FROM "context_\'a\' ""view"""'))) == 1, "the view shows it"
        assert canonical_json(plan.read(answers)["run"]) == canonical_json(after), "a context is read as it was written"
        for statement in [*plan.ddl("postgresql"), *plan.view("postgresql", "context_'a' \"view\"", ("w", 1))]:
            assert len(_parser().parse(statement)) == 1, "a name can't end its statement"


def _known(workflow: Any) -> Known:
    """Know every tool and every transform of a workflow; what they are called says how much."""
    if workflow is None:
        return Known()
    wanted = needs(workflow)
    tools: dict[Any, Any] = {}
    for name in wanted.tools:
        kinds = {"o": _OPEN_TOOL, "u": Unchecked("nobody may ask", "ask"), "x": "it is not there"}
        tools[name] = kinds.get(name.tool_name[:1], _TOOL)
    transforms: dict[str, Any] = {
        source: (TypeFault(source[:100], 1, 1),) if source.startswith("x") else _TRANSFORM
        for source in wanted.transforms
    }
    return Known(tools, transforms)
