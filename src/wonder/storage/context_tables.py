"""The register of generated context tables: which exist for which definition version (CTX-2)."""

from collections.abc import Sequence
from typing import Literal

from wonder.context.plan import LAYOUT_FORMAT
from wonder.storage.store import Reader, Transaction


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

    The layout's format is noted as well: whoever changes how a schema is laid out must still read older tables.
    """
    rows = [(name, workflow_def_id, version, kind, LAYOUT_FORMAT, at) for name in names]
    await transaction.execute_many("register_context_table", rows)


async def context_tables_of(reader: Reader, workflow_def_id: str, version: int) -> list[str]:
    """List the generated tables of a definition version; none means that they have not been made yet."""
    rows = await reader.fetch("context_tables_of", workflow_def_id, version)
    return [str(name) for name, kind in rows if kind == "table"]
