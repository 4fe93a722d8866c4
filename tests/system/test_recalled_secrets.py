"""A run that goes on in another process shows no secret that it has used in the one before (INV-8)."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.systems import bundle, calls, line, waits
from wonder.app.opening import open_wonder
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret

CANARY = "c4n4ry-7f+3k9/Qz8=w2"


@pytest.fixture(autouse=True)
def record_factory() -> Iterator[None]:
    """Log records made as before when the test has ended."""
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)


async def test_inv_8_the_secrets_of_runs_under_way_are_redacted_before_they_go_on(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-8: also by a process in which no action has used them."""
    monkeypatch.chdir(tmp_path)  # where the key is
    url = store_url
    nodes = {"wait": waits("wait_for_event", {"event": "go"}), "tell": calls("tell", output_mapping={"output.a": "$"})}
    functions = {"tests:tell": lambda: {"told": f"seen {CANARY}"}}
    async with open_wonder(url, functions=functions) as wonder:
        home, app = wonder.home, wonder
        owner = Owner("project", home.project_id)
        await set_secret(app.store, key_source(url), owner, "TOKEN", CANARY, clock=app.clock, new_id=app.new_id)
        await wonder.deploy(bundle("waiting", nodes, line("wait", "tell")))
        run = await wonder.start("waiting")
    async with open_wonder(url, functions=functions) as wonder:
        await wonder.send_event("go")
        ended = await wonder.wait(run.id)
    assert (ended.status, ended.output) == ("completed", {"a": {"told": "seen [secret TOKEN]"}})
