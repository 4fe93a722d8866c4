"""TypeScript types as JSON Schemas (PHS-5): a table, each row checked by values that it takes and refuses."""

import json

import pytest

from sandbox.type_table import TABLE, TypeRow
from wonder.language.schemas import compile_validator
from wonder.sandbox.typescript import InvalidTypeScript, TypeScriptCompiler

# Where a schema is meant to differ from what the compiler says of a value that is written out: `{}` takes texts; brands
# and enums keep apart what is the same JSON; more properties are refused in literals only; what may be undefined may be
# left out.
MEANT = {
    ("{}", "1"),
    ("string & { readonly brand: 'id' }", '"a"'),
    ("{ a: string }", '{"a": "x", "more": 1}'),
    ("{ a: string | undefined }", "{}"),
    ("Record<number, string>", '{"x": 1}'),
    ("{ [key: `x-${string}`]: number }", '{"x-a": 1, "y": ""}'),
    ("Color", '"red"'),
    ("Color.Red", '"red"'),
    ("Mixed", '"b"'),
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def source_of(row: TypeRow) -> str:
    """Give a transform whose input is the row's type."""
    types = f"{row.with_types}\ntype Input = {row.type};\ntype Output = true;"
    return f"{types}\nexport default (input: Input): Output => true;"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
async def test_phs_5_a_type_is_the_schema_that_takes_its_values_and_no_others(
    compiler: TypeScriptCompiler, row: TypeRow
) -> None:
    schema = (await compiler.compile(source_of(row))).input_schema
    assert schema == row.schema
    validator = compile_validator(schema)
    for value in row.accepted:
        assert validator.is_valid(value), f"{value!r} is a {row.type}"
    for value in row.refused:
        assert not validator.is_valid(value), f"{value!r} is no {row.type}"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
async def test_phs_5_a_schema_takes_of_the_tables_values_those_that_the_compiler_takes(
    compiler: TypeScriptCompiler, row: TypeRow
) -> None:
    values = [(json.dumps(value), True) for value in row.accepted] + [
        (json.dumps(value), False) for value in row.refused
    ]
    constants = "".join(f"\nconst value{index}: Input = {value};" for index, (value, _) in enumerate(values))
    source = source_of(row)
    first_line = source.count("\n") + 2
    try:
        await compiler.compile(source + constants)
        refused = set()
    except InvalidTypeScript as error:
        refused = {fault.line - first_line for fault in error.faults}
    told = [(value, index not in refused) for index, (value, _) in enumerate(values)]
    assert [pair for pair in told if (row.type, pair[0]) not in MEANT] == [
        pair for pair in values if (row.type, pair[0]) not in MEANT
    ]
