"""Makes the generated views of an older database anew, as a migration can't: SQL does not know how they are made."""

from wonder.context.plan import plan_context, table_prefix
from wonder.storage.store import Dialect, Transaction
from wonder.storage.tables import decode_json

MIGRATION = "views_for_people"
"""The migration with which they are made anew, in its transaction."""


async def renew_context_views(transaction: Transaction, dialect: Dialect) -> None:
    """Drop and make each view of contexts that is in the catalogue.

    It reads only columns that the first migrations made: later ones may not have been applied yet.
    """
    for row in await transaction.fetch_named("context_views"):
        version = row["workflow_def_version"]
        assert isinstance(version, int)
        of = (str(row["workflow_def_id"]), version)
        plan = plan_context(
            table_prefix(*of),
            input_schema=decode_json(row["input_schema"]),
            context_schema=decode_json(row["context_schema"]),
            output_schema=decode_json(row["output_schema"]),
            shared=bool(row["shared_tables"]),
        )
        for statement in plan.view(dialect, str(row["table_name"]), of):
            await transaction.run(statement)
