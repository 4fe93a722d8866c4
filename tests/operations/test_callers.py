"""KEY-3: what a credential says of the caller is what counts, not what a request says."""

import pytest

from support.systems import bundle, open_item, running, waits
from wonder.app.callers import Caller
from wonder.engine.gates import ItemClaimed, MayNotAnswer
from wonder.operations.inbox import (
    Answer,
    ClaimQuestion,
    ListInbox,
    answer_item,
    claim_question,
    list_inbox,
    release_question,
)
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
        await answer_item(theirs, Answer(item_id=item.id, answer=1, by="somebody else"))
        assert [one.answered_by for one in await inbox_of_run(wonder.store, run.id)] == [answered_by]


async def test_act_4b_what_a_caller_may_do_with_a_question_follows_from_their_name_and_role(store_url: str) -> None:
    """KEY-3: a body that names somebody else changes nothing; what a model may do is off unless it is said."""
    guarded = {"prompt": "?", "role": "author", "answerable_by": {"role": "author", "models": False}}
    async with running(store_url) as wonder:
        await wonder.deploy(bundle("asking", {"ask": waits("human_input", guarded)}))
        item = await open_item(wonder, await wonder.start("asking"))
        low, author = (wonder.acting_for(Caller("ann", "operator")), wonder.acting_for(Caller("bob", "author")))
        model = wonder.acting_for(Caller("claude", "admin", kind="model"))
        for app in (low, model):
            with pytest.raises(MayNotAnswer):
                await answer_item(app, Answer(item_id=item.id, answer=1, by="bob"))
            with pytest.raises(MayNotAnswer):
                await claim_question(app, ClaimQuestion(item_id=item.id, by="bob"))
        assert (await list_inbox(low, ListInbox(mine=True, by="bob"))).items == []
        assert [one.id for one in (await list_inbox(author, ListInbox(mine=True))).items] == [item.id]
        assert (await claim_question(author, ClaimQuestion(item_id=item.id, by="eve"))).claimed_by == "bob"
        with pytest.raises(ItemClaimed):
            await release_question(low, ClaimQuestion(item_id=item.id, by="bob"))
        admin = wonder.acting_for(Caller("root", "admin"))
        assert (await release_question(admin, ClaimQuestion(item_id=item.id))).claimed_by is None
        await answer_item(author, Answer(item_id=item.id, answer=1))


def test_key_3_a_caller_covers_what_lies_within_its_scope() -> None:
    server, workspace, project = Caller("a", "viewer"), Caller("a", "viewer", "w"), Caller("a", "viewer", "w", "p")
    scopes = [(None, None), ("w", None), ("w", "p"), ("w", "q"), ("v", None), ("v", "p")]
    assert [server.covers(*scope) for scope in scopes] == [True] * 6
    assert [workspace.covers(*scope) for scope in scopes] == [False, True, True, True, False, False]
    assert [project.covers(*scope) for scope in scopes] == [False, False, True, False, False, False]
    assert [one.reach for one in (server, workspace, project)] == ["server", "workspace", "project"]
