"""Any schema, any value, any sequence of updates: what is read back is what a dict would hold (CTX-2 to CTX-4)."""

from contextlib import suppress
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.contexts import create, read, schemas, updates, values, write
from support.depth import tries
from wonder.context.plan import changed_paths, plan_context
from wonder.language.values import canonical_json
from wonder.storage.store import Store

ROOTS = ("input", "state", "output")
numbers = count()


class RollBack(Exception):
    """Leaves a transaction and all that was made in it."""


@settings(
    max_examples=tries(70, 700),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(chance=st.data())
async def test_ctx_4_what_is_read_back_is_what_a_dict_would_hold(store: Store, chance: st.DataObject) -> None:
    documents = {root: chance.draw(schemas(), label=f"schema of {root}") for root in ROOTS}

    def draw_context(label: str) -> dict[str, Any]:
        return {root: chance.draw(values(documents[root], documents[root]), label=f"{label} {root}") for root in ROOTS}

    plan = plan_context(
        f"property_{next(numbers)}",
        input_schema=documents["input"],
        context_schema=documents["state"],
        output_schema=documents["output"],
        # Only there definitions share tables.
        shared=store.dialect == "sqlite" and chance.draw(st.booleans(), label="shared"),
    )
    context = draw_context("first")
    with suppress(RollBack):
        async with store.transaction() as transaction:
            await create(transaction, plan, store.dialect)
            await write(transaction, plan.insert("run", context))
            await write(transaction, plan.insert("another run", context))
            untouched = canonical_json(context)
            assert canonical_json(await read(transaction, plan, "run")) == untouched
            for number in range(chance.draw(st.integers(1, 4), label="updates")):
                donor = draw_context(f"donor {number}")
                new, paths = chance.draw(updates(context, donor), label=f"update {number}")
                changed = changed_paths(paths) if chance.draw(st.booleans(), label="with paths") else None
                await write(transaction, plan.changes("run", context, new, changed))
                context = new
                assert canonical_json(await read(transaction, plan, "run")) == canonical_json(context)
            assert canonical_json(await read(transaction, plan, "another run")) == untouched
            await write(transaction, plan.delete("run"))
            for table in plan.tables:
                assert await transaction.query(f'SELECT 1 FROM "{table.name}" WHERE run_id = $1', "run") == []
            raise RollBack
