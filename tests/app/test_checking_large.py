"""A large definition is read and checked beside the loop, so that the engine of the same process goes on."""

import json
import threading
from typing import Any

import pytest

import wonder
from support.graphs import graph
from wonder.definitions import loading
from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import Fault
from wonder.definitions.file_form.reading import Reading

SMALL = graph("a > b")
LARGE = graph(*(f"n{number} > n{number + 1}" for number in range(400)))


@pytest.mark.parametrize(("definition", "is_beside"), [(SMALL, False), (LARGE, True)], ids=["small", "large"])
async def test_a_large_definition_is_checked_beside_the_loop(
    definition: dict[str, Any], is_beside: bool, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    check = loading.check_bundle

    def noted(reading: Reading, catalog: Catalog) -> list[Fault]:
        seen.append(threading.current_thread() is not threading.main_thread())
        return check(reading, catalog)

    monkeypatch.setattr(loading, "check_bundle", noted)
    async with wonder.open(store_url, functions={"m:f": lambda **given: given}) as app:
        await app.deploy(definition)
        files = [{"text": json.dumps(definition)}]
        valid: Any = await wonder.call(app, "definitions.validate", files=files)
        assert valid["valid"]
    assert seen == [is_beside, is_beside]


async def test_what_is_wrong_with_a_large_definition_is_told_as_of_a_small_one(store_url: str) -> None:
    broken = graph(*(f"n{number} > n{number + 1}" for number in range(400)))
    broken["workflow"]["transitions"][7]["to"] = "nowhere"
    async with wonder.open(store_url) as app:
        with pytest.raises(wonder.DefinitionRefused) as refused:
            await app.deploy(broken)
    assert "missing_node" in [fault.code for fault in refused.value.faults]
