"""The tables and the view of a definition version's contexts: making them, and finding them again (CTX-2).

On SQLite every connection reads the whole catalogue when it opens, and again after every change of it. There only the
first versions have tables of their own; later ones share tables, and the view of a workflow is kept as a row, for
`wonder query` to make when a query names it. Deploying then changes the catalogue no more.
"""

from collections.abc import Sequence
from typing import Final, Literal

from wonder.context.names import whole_name
from wonder.context.plan import (
    LAYOUT_FORMAT,
    SHARED_LAYOUT_FORMAT,
    ContextPlan,
    plan_context,
    table_prefix,
)
from wonder.definitions.records.graph import WorkflowDef
from wonder.storage.postgresql.reader_role import grant_to_readers
from wonder.storage.store import Dialect, Reader, Transaction

# Together they double what a connection takes to read the catalogue of an empty database: 1.5 ms more.
OWN_TABLES_MAX: Final = 100
STORED_VIEWS_MAX: Final = 50


async def make_context_tables(
    transaction: Transaction, dialect: Dialect, record: WorkflowDef, name: str, of: tuple[str, int], *, at: str
) -> None:
    """Make the tables for the contexts of a new definition version, and the view of the workflow with this name."""
    plan, view = _plan(record, of, is_shared=False), await _view_name(transaction, name, of[0])
    is_own = is_stored = True
    if dialect == "sqlite":
        most = max(OWN_TABLES_MAX, STORED_VIEWS_MAX)
        ((tables, views),) = await transaction.fetch("generated_in_catalogue", of[0], most)
        is_own = int(str(tables)) + len(plan.tables) <= OWN_TABLES_MAX
        is_stored = int(str(views)) < STORED_VIEWS_MAX
    if not is_own:
        plan = _plan(record, of, is_shared=True)
    for statement in plan.ddl(dialect):
        await transaction.run(statement)
    names = [table.name for table in plan.tables]
    if is_own:
        await register_context_tables(transaction, *of, names, at=at)
    else:
        rows = [(name, *of, SHARED_LAYOUT_FORMAT, at) for name in names]
        await transaction.execute_many("register_shared_context_table", rows)
    await (store_view if is_stored else _keep_view)(transaction, dialect, plan, view, of, at)
    if dialect == "postgresql":
        await grant_to_readers(transaction, [*names, view])


async def load_context_plan(reader: Reader, definition: WorkflowDef) -> ContextPlan:
    """Plan how contexts of a stored definition version are kept: in its own tables or in shared ones."""
    of = (definition.id, definition.version)
    return _plan(definition, of, is_shared=bool(await reader.fetch("is_context_shared", *of)))


async def register_context_tables(
    transaction: Transaction,
    workflow_def_id: str,
    version: int,
    names: Sequence[str],
    *,
    at: str,
    kind: Literal["table", "view"] = "table",
) -> None:
    """Note that tables or views were made for a definition version, in the transaction that made them.

    The layout's format is noted as well: a change of how schemas are laid out must still read older tables.
    """
    rows = [(name, workflow_def_id, version, kind, LAYOUT_FORMAT, at) for name in names]
    await transaction.execute_many("register_context_table", rows)


async def context_tables_of(reader: Reader, workflow_def_id: str, version: int) -> list[str]:
    """List a definition version's own tables; none means that they have not been made, or that it shares tables."""
    rows = await reader.fetch("context_tables_of", workflow_def_id, version)
    return [str(name) for name, kind in rows if kind == "table"]


def _plan(definition: WorkflowDef, of: tuple[str, int], *, is_shared: bool) -> ContextPlan:
    return plan_context(
        table_prefix(*of),
        input_schema=definition.input_schema,
        context_schema=definition.context_schema,
        output_schema=definition.output_schema,
        shared=is_shared,
    )


async def _view_name(transaction: Transaction, name: str, id: str) -> str:
    """Name a workflow's view after it; one that something else has already gets a part of the id as well."""
    view = whole_name(f"context_{name}")
    owners = await transaction.fetch("owner_of_context_table", view)
    is_free = not owners and view.lower() != "context_tables"  # which is our own
    if is_free or (owners and owners[0][0] == id):
        return view
    return whole_name(f"context_{id[-8:].lower()}_{name}")


async def store_view(
    transaction: Transaction, dialect: Dialect, plan: ContextPlan, view: str, of: tuple[str, int], at: str
) -> None:
    """Make a view that is in the catalogue, and note whose it is."""
    for statement in plan.view(dialect, view, of):
        await transaction.run(statement)
    await register_context_tables(transaction, *of, [view], at=at, kind="view")
    await transaction.execute("forget_query_view", view)


async def _keep_view(
    transaction: Transaction, dialect: Dialect, plan: ContextPlan, view: str, of: tuple[str, int], at: str
) -> None:
    # A database that an older Wonder has filled gets smaller by it.
    if await transaction.execute("forget_context_view", view):
        await transaction.run(plan.drop_view(view))
    definition = plan.temporary_view(dialect, view, of)
    await transaction.execute("register_query_view", view, *of, ", ".join(plan.view_columns()), definition, at)
