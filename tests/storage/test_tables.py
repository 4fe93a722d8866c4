"""Records and tables: every field has its column, and every value comes back as it went in."""

import re
from importlib.resources import files
from typing import Any

import pytest

from support.database_structure import columns_of
from wonder.storage import tables
from wonder.storage.queries import Queries, for_dialect, load_queries
from wonder.storage.store import Store
from wonder.storage.tables import Table

ALL = [table for table in vars(tables).values() if isinstance(table, Table)]
# Fields that are tables of their own, and columns that only storage knows.
ELSEWHERE = {"nodes", "transitions", "steps", "settings"}
OWN = {"archived_at", "ordinal", "workflow_def_id", "workflow_def_version", "task_def_id", "task_def_version"}
OWN_OF_SETTINGS = {"workspace_id", "project_id"}


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_every_field_of_a_record_has_a_column(table: Table[Any]) -> None:
    fields = {name.rstrip("_") for name in table.record.model_fields} - ELSEWHERE
    assert fields - set(table.columns) == set()
    assert set(table.columns) - fields <= OWN


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_table_is_written_in_the_order_of_its_columns(table: Table[Any], dialect: Any) -> None:
    queries = load_queries(dialect)
    singular = {"workspace_settings", "project_settings"}
    name = next(name for name in (f"insert_{table.name}", f"put_{table.name}") if name in set(queries))
    written = re.search(r"INSERT INTO (\w+)\s+\(([^)]*)\)", queries[name])
    assert written is not None
    columns = tuple(re.split(r",\s*", written[2].strip()))
    assert written[1] == table.name
    assert columns[1 if table.name in singular else 0 :] == table.columns


async def test_every_column_of_a_table_belongs_to_its_record(store: Store) -> None:
    for table in ALL:
        columns = await columns_of(store, store.dialect, table.name)
        assert columns - set(table.columns) <= OWN | OWN_OF_SETTINGS
        assert set(table.columns) <= columns


async def test_every_named_query_is_one_that_its_database_accepts(store: Store) -> None:
    """Prepared, not run: a misspelt column fails here and not on the day when somebody needs the query."""
    queries = load_queries(store.dialect)
    assert len(list(queries)) > 80
    for name in queries:
        sql = queries[name]
        count = max((int(number) for number in re.findall(r"[$?](\d+)", sql)), default=0)
        if store.dialect == "sqlite":
            await store.query(f"EXPLAIN {sql}", *[None] * count)
        else:
            async with store.transaction() as transaction:
                await transaction.run(f"PREPARE checked AS {sql}")
                await transaction.run("DEALLOCATE checked")


def test_queries_that_only_one_database_has_exist_on_the_other_too() -> None:
    """But for the journal and views that are rows, which only SQLite has, and what only a server has: dumps, roles."""
    of_a_file = {name for name in load_queries("sqlite") if "journal" in name}
    of_a_file |= {
        "begin_snapshot",
        "copy_faults",
        "key_of_table",
        "query_names",
        "query_view_definition",
        "query_views",
    }
    of_a_server = {
        "columns_of_table",
        "export_snapshot",
        "free_leases",
        "reader_excess",
        "reader_place",
        "reader_role",
        "readers",
        "require_durable_commits",
        "role_powers",
    }
    of_a_server |= {f"query_{what}" for what in ("functions", "locks", "relations", "role", "schema", "settings")}
    assert set(load_queries("sqlite")) - of_a_file == set(load_queries("postgresql")) - of_a_server


@pytest.mark.parametrize(
    ("written", "for_sqlite"),
    [
        ("SELECT $1, $12", "SELECT ?1, ?12"),
        ("SELECT '$1', \"$2\", $3", "SELECT '$1', \"$2\", ?3"),
        ("SELECT 'it''s $1' || $2 -- not $3\n, $4", "SELECT 'it''s $1' || ?2 -- not $3\n, ?4"),
        ('SELECT "a""$1", $2', 'SELECT "a""$1", ?2'),
        ("SELECT '-- $1', $2", "SELECT '-- $1', ?2"),
    ],
)
def test_parameters_are_respelt_for_sqlite_and_texts_are_left_alone(written: str, for_sqlite: str) -> None:
    assert for_dialect(written, "sqlite") == for_sqlite
    assert for_dialect(written, "postgresql") == written


def test_a_name_that_is_no_query_is_our_bug() -> None:
    queries = Queries("sqlite", {"known": "SELECT $1"})
    assert queries["known"] == queries.resolve("known") == "SELECT ?1"
    assert queries.resolve("SELECT $2") == "SELECT ?2"
    with pytest.raises(AssertionError):
        queries.resolve("unknown")


@pytest.mark.parametrize("folder", ["", "sqlite", "postgresql"])
def test_every_file_of_queries_opens_by_saying_what_it_is_about(folder: str) -> None:
    place = files("wonder.storage") / folder / "sql"
    texts = [file.read_text("utf-8") for file in place.iterdir() if file.name.endswith(".sql")]
    assert texts
    assert all(text.startswith("-- ") and not text.startswith("-- name:") for text in texts)
