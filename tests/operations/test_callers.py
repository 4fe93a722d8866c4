"""KEY-3: what a credential says of the caller is what counts, not what a request says."""

import pytest

from support.systems import bundle, open_item, running, waits
from wonder.app.callers import Caller
from wonder.operations.run_orders import AnswerItem, answer_item
from wonder.storage.runs.reading import inbox_of_run

ASK = bundle("asking", {"ask": waits("human_input", {"prompt": "?", "schema": {}})})


@pytest.mark.parametrize(
    ("caller", "answered_by"),
    [
        (Caller("ann", "operator", key_id="k"), "ann"),
        (Caller("ann", "operator", kind="person"), "ann"),
        (Caller("root", "admin", kind="local"), "somebody else"),
        (None, "somebody else"),
    ],
)
async def test_key_3_who_answers_is_the_caller_and_not_what_the_request_says(
    store_url: str, caller: Caller | None, answered_by: str
) -> None:
    async with running(store_url) as wonder:
        await wonder.deploy(ASK)
        run = await wonder.start("asking")
        item = await open_item(wonder, run)
        theirs = wonder if caller is None else wonder.acting_for(caller)
        await answer_item(theirs, AnswerItem(item_id=item.id, answer=1, by="somebody else"))
        assert [one.answered_by for one in await inbox_of_run(wonder.store, run.id)] == [answered_by]


def test_key_3_a_caller_covers_what_lies_within_its_scope() -> None:
    server, workspace, project = Caller("a", "viewer"), Caller("a", "viewer", "w"), Caller("a", "viewer", "w", "p")
    scopes = [(None, None), ("w", None), ("w", "p"), ("w", "q"), ("v", None), ("v", "p")]
    assert [server.covers(*scope) for scope in scopes] == [True] * 6
    assert [workspace.covers(*scope) for scope in scopes] == [False, True, True, True, False, False]
    assert [project.covers(*scope) for scope in scopes] == [False, False, True, False, False, False]
    assert [one.reach for one in (server, workspace, project)] == ["server", "workspace", "project"]
