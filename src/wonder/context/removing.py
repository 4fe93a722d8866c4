"""Removing the context of a run from its tables, some rows at a time."""
# ruff: noqa: S608  # this room writes SQL: every identifier in it is quoted, every value a parameter

from wonder.context.columns import RUN_ID
from wonder.context.names import quote
from wonder.context.plan import ContextPlan


def removals(plan: ContextPlan) -> list[str]:
    """Write the statements that delete rows of run $1, at most $2 each, and give one row for each that they deleted."""
    return [_removal(table.name, table.key[1:]) for table in plan.tables]


def _removal(name: str, positions: tuple[str, ...]) -> str:
    of_run = f"{quote(RUN_ID)} = $1"
    if not positions:
        # One row at most.
        return f"DELETE FROM {quote(name)} WHERE {of_run} AND $2 > 0 RETURNING 1"
    key = ", ".join(map(quote, positions))
    some = f"SELECT {key} FROM {quote(name)} WHERE {of_run} LIMIT $2"
    return f"DELETE FROM {quote(name)} WHERE {of_run} AND ({key}) IN ({some}) RETURNING 1"
