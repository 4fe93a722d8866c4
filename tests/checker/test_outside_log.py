"""What a test saw with its own eyes is compared with the database: runs, ends, effects, answers, events, leases."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.checked_runs import AT, TOKEN, TYPE, Spoiler
from wonder.checker.outside import check_log, read_log


async def rules(spoiler: Spoiler, *log: dict[str, Any]) -> list[str]:
    """Give the rules that a log shows to be broken, each with the name of its run."""
    names = {id: name for name, id in spoiler.runs.items()}
    return [f"{one.rule} {names.get(one.run_id, one.run_id)}" async for one in check_log(spoiler.store, log)]


async def dispatched(spoiler: Spoiler, name: str) -> tuple[str, int]:
    """Give the token and the time of the first dispatch of a run."""
    event = next(event for event in await spoiler.events(name) if event[TYPE] == "token_dispatched")
    return event[TOKEN], event[AT]


async def test_a_run_that_was_accepted_is_there_and_has_one_key(spoiler: Spoiler) -> None:
    """INV-1, CTL-17."""
    line, loop = spoiler.runs["line"], spoiler.runs["loop"]
    accepted = {"kind": "accepted", "at": 1}
    assert await rules(spoiler, {**accepted, "run": line, "key": "a"}, {**accepted, "run": line, "key": "a"}) == []
    assert await rules(spoiler, {**accepted, "run": "gone"}) == ["accepted gone"]
    log = [{**accepted, "run": line, "key": "a"}, {**accepted, "run": loop, "key": "a"}]
    assert await rules(spoiler, *log) == ["accepted loop"]


async def test_the_end_that_a_client_was_told_is_the_end(spoiler: Spoiler) -> None:
    """INV-1."""
    told = {"kind": "told_end", "run": spoiler.runs["line"], "status": "completed"}
    assert await rules(spoiler, told, {**told, "output": {"n": 9}}) == []
    assert await rules(spoiler, {**told, "status": "failed"}) == ["told line"]
    assert await rules(spoiler, {**told, "output": {"n": 9.0}}) == ["told line"]
    assert await rules(spoiler, {**told, "run": "gone"}) == ["told gone"]


async def test_a_confirmed_cancel_ends_the_run_and_nothing_acts_afterwards(spoiler: Spoiler) -> None:
    """CTL-16."""
    token, at_ms = await dispatched(spoiler, "line")
    confirmed = {"kind": "cancel_confirmed", "at": at_ms}
    assert await rules(spoiler, {**confirmed, "run": spoiler.runs["cancelled"]}) == []
    assert await rules(spoiler, {**confirmed, "run": spoiler.runs["asking"]}) == ["cancel asking"]
    effect = {"kind": "effect", "run": spoiler.runs["line"], "token": token}
    of_line = {**confirmed, "run": spoiler.runs["line"]}
    assert await rules(spoiler, of_line, {**effect, "at": at_ms + 500}) == []
    assert await rules(spoiler, of_line, {**effect, "at": at_ms + 5_000}) == ["cancel line"]


async def test_an_effect_was_dispatched_before_and_happens_no_more_often_than_allowed(spoiler: Spoiler) -> None:
    """INV-3, INV-4."""
    token, at_ms = await dispatched(spoiler, "line")
    effect = {"kind": "effect", "run": spoiler.runs["line"], "token": token, "at": at_ms}
    crash = {"kind": "crash", "at": at_ms}
    assert await rules(spoiler, effect) == []
    assert await rules(spoiler, effect, effect) == ["effects line"]
    assert await rules(spoiler, effect, effect, crash) == []
    # A crash before it was dispatched is no reason to do it again.
    assert await rules(spoiler, {**crash, "at": at_ms - 2_000}, effect, effect) == ["effects line"]
    assert await rules(spoiler, {**effect, "at": at_ms - 100}) == ["effects line"]
    assert await rules(spoiler, {**effect, "token": "none"}) == ["effects line"]
    assert await rules(spoiler, {**effect, "run": "gone"}) == ["effects gone"]


async def test_nothing_acts_before_the_sleep_that_leads_to_it_is_over(spoiler: Spoiler) -> None:
    """INV-6, by the true time."""
    token, at_ms = await dispatched(spoiler, "slept")
    effect = {"kind": "effect", "run": spoiler.runs["slept"], "token": token}
    assert await rules(spoiler, {**effect, "at": at_ms}) == []
    await spoiler.change("slept", "timer_set", lambda event: event[7].update(due_ms=at_ms + 50))
    assert await rules(spoiler, {**effect, "at": at_ms}) == ["effects slept"]


async def test_an_accepted_answer_is_kept_and_only_one_is_accepted(spoiler: Spoiler) -> None:
    """ACT-4."""
    query = "SELECT id FROM inbox_items WHERE run_id = $1"
    ((answered,),) = await spoiler.store.query(query, spoiler.runs["answered"])
    ((asking,),) = await spoiler.store.query(query, spoiler.runs["asking"])
    one = {"kind": "answer_accepted", "item": answered}
    assert await rules(spoiler, one) == []
    assert await rules(spoiler, one, one) == ["answers answered"]
    assert await rules(spoiler, {**one, "item": asking}) == ["answers asking"]
    assert await rules(spoiler, {**one, "item": "none"}) == ["answers "]


async def test_an_accepted_event_is_kept_or_has_woken_somebody(spoiler: Spoiler) -> None:
    ((project,),) = await spoiler.store.query("SELECT project_id FROM runs WHERE id = $1", spoiler.runs["woken"])
    sent = {"kind": "event_accepted", "project": project, "event": "other", "at": 1}
    assert await rules(spoiler, sent) == []
    assert await rules(spoiler, {**sent, "event": "lost"}) == ["events "]
    row = (str(project), "e", "", None, None, 1, 10**15, None)
    await spoiler.sql("INSERT INTO kept_events VALUES ('k', $1, $2, $3, $4, $5, $6, $7, $8)", *row)
    at_rest = {"kind": "at_rest", "at": 1, "live": await _live(spoiler)}
    assert "events listening" in await rules(spoiler, {**sent, "event": "e"}, at_rest)


async def test_every_write_is_by_the_owner_of_the_newest_lease(spoiler: Spoiler) -> None:
    """INV-5."""
    ((epoch,),) = await spoiler.store.query("SELECT epoch FROM leases")
    assert isinstance(epoch, int)
    claimed = {"kind": "claimed", "owner": "one", "epoch": epoch, "at": 10}
    wrote = {"kind": "wrote", "run": spoiler.runs["line"], "sequence": 3, "epoch": epoch, "at": 20}
    assert await rules(spoiler, claimed, wrote) == []
    assert await rules(spoiler, claimed, {**wrote, "epoch": epoch - 1}) == ["lease line"]
    assert await rules(spoiler, claimed, {**wrote, "sequence": 999}) == ["lease line"]
    assert await rules(spoiler, claimed, {**claimed, "owner": "two"}) == ["lease "]
    assert await rules(spoiler, {**claimed, "epoch": epoch + 1}) == ["lease "]


async def test_once_all_is_at_rest_nothing_is_overdue(spoiler: Spoiler) -> None:
    """INV-1, RET-3."""
    live = await _live(spoiler)
    ((newest,),) = await spoiler.store.query("SELECT max(at_ms) FROM events")
    at_rest = {"kind": "at_rest", "at": newest, "live": live}
    assert await rules(spoiler, at_rest) == []
    asking = spoiler.runs["asking"]
    assert await rules(spoiler, {**at_rest, "live": [id for id in live if id != asking]}) == ["overdue asking"]
    await spoiler.sql("UPDATE timers SET due_ms = 1 WHERE run_id = $1", asking)
    assert await rules(spoiler, at_rest) == ["overdue asking"]
    await spoiler.sql(
        "UPDATE runs SET status = 'failed', completed_ms = 1 WHERE parent_run_id = $1", spoiler.runs["calling"]
    )
    assert "overdue calling" in await rules(spoiler, at_rest)


async def _live(spoiler: Spoiler) -> list[str]:
    return [str(id) for (id,) in await spoiler.store.query("SELECT id FROM runs WHERE completed_ms IS NULL")]


def test_a_log_whose_last_line_was_cut_off_is_read_up_to_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps({"kind": "crash", "at": 1})
    path.write_text(f'{line}\n{line}\n{{"kind": "cra')
    assert len(list(read_log(path))) == 2
    path.write_text("[]\n")
    with pytest.raises(ValueError, match="line 1"):
        list(read_log(path))
