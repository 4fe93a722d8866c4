"""Questions to people on a real database: quorums, claims, delegation, reminders, lists (ACT-4, ACT-4a, ACT-4b)."""

import asyncio
from typing import Any

import pytest

from support.systems import bundle, event_types, no_run_in_memory, open_item, running, until, waits
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import RequestRefused, Run
from wonder.coordinator.errors import InputRefused, ItemClosed
from wonder.engine.gates import AnsweredOtherwise, ItemClaimed, MayNotAnswer, NotPossible
from wonder.operations.inbox import Answer, ListInbox, OneQuestion, answer_item, list_inbox, show_question
from wonder.operations.runs import OneRun, show_run
from wonder.storage.runs.reading import load_inbox_item

OK = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}}}
YES, NO = {"ok": True}, {"ok": False}
THREE = {"of": ["ann", "bob", "carl"], "needed": 2, "agree_on": "ok"}


async def asked(wonder: Application, name: str = "asks", given: Any = None, **fields: Any) -> Run:
    question = waits("human_input", {"prompt": "pay?", "schema": OK, **fields}, output_mapping={"output.given": "$"})
    return await wonder.start(await wonder.deploy(bundle(name, {"ask": question})), given)


async def test_act_4a_a_quorum_survives_the_end_of_its_process_and_counts_each_approver_once(store_url: str) -> None:
    """Who answered what when is to be read then and later: in the item, in the run, and in the view answer_log."""
    async with running(store_url) as wonder:
        run = await asked(wonder, quorum=THREE)
        item = await open_item(wonder, run)
        done = await answer_item(wonder, Answer(item_id=item.id, answer={"ok": True, "why": "cheap"}, by="ann"))
        assert done.is_open
        assert not done.needs_engine
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        await wonder.answer(item.id, {"ok": True, "why": "cheap"}, by="ann")  # as if nobody had heard that it was taken
        with pytest.raises(AnsweredOtherwise):
            await wonder.answer(item.id, NO, by="ann")
        with pytest.raises(MayNotAnswer):
            await wonder.answer(item.id, YES, by="dora")
        with pytest.raises(InputRefused):
            await wonder.answer(item.id, {"ok": "perhaps"}, by="bob")
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        await wonder.answer(item.id, NO, by="bob")
        assert (await load_inbox_item(wonder.store, item.id)).people == ["carl"]
        await wonder.answer(item.id, YES, by="carl")
        result = await wonder.wait(run.id)
        stored = await load_inbox_item(wonder.store, item.id)
        assert stored.status == "answered"
        assert result.output == {"given": stored.answer}
        output: Any = stored.answer
        assert (output["agreed"], output["decided_by"]) == ({"ok": True, "why": "cheap"}, "agreement")
        given = [(one["by"], one["answer"]) for one in output["answers"]]
        assert given == [("ann", {"ok": True, "why": "cheap"}), ("bob", NO), ("carl", YES)]
        await wonder.answer(item.id, YES, by="carl")  # the last one may be repeated too
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, NO, by="carl")
        details = await show_run(wonder, OneRun(run_id=run.id))
        assert [(one.by, one.answer) for one in details.answers] == given
        assert details.answers == sorted(details.answers, key=lambda one: one.at_ms)
        rows = await wonder.store.query("SELECT answered_by, answer FROM answer_log ORDER BY answered_at, answered_by")
        assert [by for by, _ in rows] == ["ann", "bob", "carl"]
        assert str(rows[1][1]).replace(" ", "") == '{"ok":false}'


async def test_act_4a_approvers_who_answer_at_once_are_all_counted(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await asked(wonder, quorum={**THREE, "needed": 3})
        item = await open_item(wonder, run)
        names = ["ann", "bob", "carl", "ann", "dora"]
        told = await asyncio.gather(*(wonder.answer(item.id, YES, by=name) for name in names), return_exceptions=True)
        assert told[:4] == [None] * 4
        assert isinstance(told[4], MayNotAnswer | ItemClosed)
        output: Any = (await wonder.wait(run.id)).output
        assert sorted(one["by"] for one in output["given"]["answers"]) == ["ann", "bob", "carl"]


async def test_act_4a_approvers_who_disagree_fail_their_node_with_what_they_said(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await asked(wonder, quorum={**THREE, "needed": 3})
        item = await open_item(wonder, run)
        for name, answer in (("ann", YES), ("bob", NO)):
            await wonder.answer(item.id, answer, by=name)
        result = await wonder.wait(run.id)
        error: Any = result.error
        assert (result.status, error["code"]) == ("failed", "HUMAN_INPUT_DISAGREEMENT")
        assert [one["by"] for one in error["details"]["answers"]] == ["ann", "bob"]
        shown = await show_question(wonder, OneQuestion(item_id=item.id))
        assert (shown.status, shown.answer["agreed"], shown.answer["decided_by"]) == ("answered", None, "disagreement")


async def test_act_4a_answers_that_came_before_the_end_of_the_run_stay_readable(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await asked(wonder, quorum=THREE)
        await wonder.answer((await open_item(wonder, run)).id, YES, by="ann")
        await wonder.cancel(run.id)
        assert (await wonder.wait(run.id)).status == "cancelled"
        assert [one.by for one in (await show_run(wonder, OneRun(run_id=run.id))).answers] == ["ann"]
        assert len(await wonder.store.query("SELECT * FROM answer_log")) == 1


async def test_act_4b_a_claimed_question_is_for_one_person_until_it_is_handed_on(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await asked(wonder, answerable_by={"names": ["ann", "bob"]})
        item = await open_item(wonder, run)
        await wonder.claim_question(item.id, by="ann")
        await wonder.claim_question(item.id, by="ann")
        assert (await event_types(wonder, run)).count("human_input_claimed") == 1
        for refused in (
            wonder.answer(item.id, YES, by="bob"),
            wonder.answer(item.id, YES),
            wonder.claim_question(item.id, by="bob"),
        ):
            with pytest.raises((ItemClaimed, MayNotAnswer)):
                await refused
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        assert (await load_inbox_item(wonder.store, item.id)).claimed_by == "ann"
        with pytest.raises(MayNotAnswer, match=r"they are not in answerable_by\.names"):
            await wonder.delegate_question(item.id, "carl", by="ann")
        await wonder.delegate_question(item.id, "bob", by="ann")
        stored = await load_inbox_item(wonder.store, item.id)
        assert (stored.assignee, stored.claimed_by, stored.people) == ("bob", None, ["bob"])
        await wonder.claim_question(item.id, by="bob")
        await wonder.release_question(item.id)
        await wonder.answer(item.id, YES, by="ann")
        assert (await wonder.wait(run.id)).output == {"given": YES}
        with pytest.raises(ItemClosed):
            await wonder.claim_question(item.id, by="bob")


async def test_act_4b_people_are_reminded_of_an_open_question(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await asked(wonder, remind_ms=20)
        item = await open_item(wonder, run)

        async def twice() -> bool:
            return (await show_question(wonder, OneQuestion(item_id=item.id))).reminders >= 2

        await until(twice)
        await wonder.answer(item.id, YES)
        assert (await wonder.wait(run.id)).status == "completed"
        shown = await show_question(wonder, OneQuestion(item_id=item.id))
        assert (await event_types(wonder, run)).count("human_input_reminded") == shown.reminders
        assert shown.reminded_ms is not None


async def test_act_4_the_inbox_is_listed_by_person_role_claim_and_workflow(store_url: str) -> None:
    async with running(store_url) as wonder:
        items: dict[str, str] = {}
        for name, fields in {
            "anns": {"assignee": "ann"},
            "quotes": {"assignee": 'x"ann"'},
            "authors": {"role": "author"},
            "three": {"quorum": THREE},
            "anybodys": {},
        }.items():
            items[name] = (await open_item(wonder, await asked(wonder, name, **fields))).id
        named = {item_id: name for name, item_id in items.items()}

        async def listed(**fields: Any) -> set[str]:
            page = await list_inbox(wonder, ListInbox(limit=2, **fields))
            found = list(page.items)
            while page.cursor is not None:
                page = await list_inbox(wonder, ListInbox(limit=2, cursor=page.cursor, **fields))
                found += page.items
            return {named[item.id] for item in found}

        assert await listed() == set(items)
        assert await listed(mine=True, by="ann") == {"anns", "authors", "three"}
        assert await listed(mine=True, by="ANN") == {"authors"}
        assert await listed(mine=True, by='x"ann"') == {"quotes", "authors"}
        assert await listed(assignee="ann") == {"anns"}
        assert await listed(role="author") == {"authors"}
        assert await listed(role="admin") == set()
        assert await listed(workflow="three") == {"three"}
        await wonder.claim_question(items["anybodys"], by="bob")
        await wonder.answer(items["three"], YES, by="ann")
        assert await listed(mine=True, by="ann") == {"anns", "authors"}
        assert await listed(mine=True, by="bob") == {"anybodys", "authors", "three"}
        assert await listed(claimed=True) == {"anybodys"}
        assert await listed(claimed=False) == set(items) - {"anybodys"}


async def test_act_4b_a_process_without_the_engine_claims_and_answers_as_well(store_url: str) -> None:
    async with running(store_url) as wonder, open_wonder(store_url) as other:
        assert other.engine is None
        run = await asked(wonder, quorum={**THREE, "of": ["ann", "bob"]})
        item = await open_item(wonder, run)
        await other.delegate_question(item.id, "dora", by="bob")
        for refused, code in (
            (other.claim_question(item.id, by="ann"), NotPossible.code),
            (other.answer(item.id, YES, by="bob"), MayNotAnswer.code),
        ):
            with pytest.raises(RequestRefused) as told:
                await refused
            assert told.value.reason_code == code
        for name in ("ann", "ann", "dora", "dora"):
            await other.answer(item.id, YES, by=name)
        assert (await other.wait(run.id)).status == "completed"
