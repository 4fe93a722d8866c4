"""ACT-4, ACT-4a, ACT-4b: who may answer a question, how several approvers decide together, claims and reminders."""

from typing import Any

import pytest

from support.engine_runs import Player, workflow
from wonder.engine.decisions import RequestInput, UpdateInput, WithdrawInput
from wonder.engine.facts import InputClaimed, InputDelegated, InputGiven, InputReleased
from wonder.engine.gates import (
    QUORUM_ANSWER_MAX,
    AnsweredOtherwise,
    ItemClaimed,
    MayNotAnswer,
    NotPossible,
    Person,
    check_claim,
    check_delegation,
    check_person,
    check_release,
)
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import take_snapshot
from wonder.errors import WonderError

RESULT = {"output": {"state.result": "$"}}
THREE = ["ann", "bob", "carl"]
YES, NO = {"ok": True}, {"ok": False}


def asking(**fields: Any) -> Player:
    return Player(workflow({"a": {"kind": "human_input", "prompt": "?", **fields, **RESULT}}, [])).start()


def give(player: Player, by: str | None, answer: Any) -> None:
    """Answer as the coordinator has it done: first checked, then brought."""
    token = player.token("a")
    assert token.wait
    if check_person(token, Person(by), answer):
        player.now_ms += 1
        player.bring(InputGiven(token.id, str(token.wait["item_id"]), answer, by))


def told(player: Player, by: str, answer: Any) -> dict[str, Any]:
    (event,) = [e for e in player.events("human_input_counted") if e.metadata["by"] == by]
    return {"by": by, "answer": answer, "at_ms": event.at_ms}


FAILED = "HUMAN_INPUT_DISAGREEMENT"


@pytest.mark.parametrize(
    ("needed", "rest", "answers", "decided"),
    [
        (2, {}, [YES, YES], ("agreement", YES)),
        (2, {}, [NO, YES, NO], ("agreement", NO)),
        (1, {}, [NO], ("agreement", NO)),
        (3, {}, [YES, YES], None),
        (3, {}, [YES, NO], FAILED),  # at once: the third can't save it
        (2, {}, [1, 2], None),
        (2, {}, [1, 2, 3], FAILED),
        (2, {}, [1, 1.0], ("agreement", 1)),  # as JSON compares numbers
        (2, {}, [1, True], None),
        (3, {"on_disagreement": {"default": NO}}, [YES, NO], ("disagreement", NO)),
        (3, {"on_disagreement": "majority"}, [YES, NO], None),
        (3, {"on_disagreement": "majority"}, [YES, NO, YES], ("majority", YES)),
        (2, {"on_disagreement": "majority"}, [1, 2, 3], FAILED),  # a tie
        (2, {"agree_on": "ok"}, [{"ok": 1, "why": "x"}, {"ok": 1}], ("agreement", {"ok": 1, "why": "x"})),
        (2, {"agree_on": "ok"}, [{"why": "x"}, {"why": "y"}], ("agreement", {"why": "x"})),  # both say nothing of it
        (2, {"agree_on": "ok"}, [{"why": "x"}, {"ok": None}], None),
    ],
)
def test_act_4a_a_quorum_decides_once_enough_agree_or_can_not_any_more(
    needed: int, rest: Any, answers: list[Any], decided: Any
) -> None:
    player = asking(quorum={"of": THREE, "needed": needed, **rest})
    for by, answer in zip(THREE, answers, strict=False):
        give(player, by, answer)
    given = [told(player, by, answer) for by, answer in zip(THREE, answers, strict=False)]
    if decided is None:
        assert player.run.status == "waiting"
        assert player.of(UpdateInput)[-1].progress == {"approvers": THREE, "answers": given}
    elif decided == FAILED:
        assert player.error == FAILED
        assert player.run.error is not None
        assert player.run.error.details == {"answers": given}
    else:
        decided_by, agreed = decided
        output = {"agreed": agreed, "decided_by": decided_by, "answers": given}
        assert player.run.state == {"result": output}
        assert player.of(UpdateInput)[-1].outcome == output
        (answered,) = player.events("human_input_answered")
        assert answered.metadata["decided_by"] == decided_by


def test_act_4a_an_approver_answers_once_and_may_repeat_it() -> None:
    player = asking(quorum={"of": THREE, "needed": 2})
    give(player, "ann", YES)
    before = len(player.decisions)
    give(player, "ann", {"ok": True})
    assert len(player.decisions) == before
    with pytest.raises(AnsweredOtherwise, match=r"'ann' has answered the inbox item .* before, with another answer"):
        give(player, "ann", NO)
    for stranger in ("dora", None):
        with pytest.raises(MayNotAnswer, match="its approvers are 'ann', 'bob', 'carl'"):
            give(player, stranger, YES)
    with pytest.raises(NotPossible, match="takes at most 65,536 bytes from each approver"):
        give(player, "bob", "x" * QUORUM_ANSWER_MAX)
    assert len(player.decisions) == before


@pytest.mark.parametrize(
    ("on_deadline", "answers", "message"),
    [
        ("fail", [], "nobody answered 'a' in time"),
        ("fail", [YES], "only 1 approver of 'a' answered in time; 2 must give the same answer"),
        ({"default": NO}, [YES], None),
    ],
)
def test_act_4a_at_the_deadline_of_a_quorum_its_default_counts_or_it_fails(
    on_deadline: Any, answers: list[Any], message: str | None
) -> None:
    player = asking(quorum={"of": THREE, "needed": 2}, deadline_ms=50, on_deadline=on_deadline)
    for answer in answers:
        give(player, "ann", answer)
    player.fire("deadline:")
    given = [told(player, "ann", answer) for answer in answers]
    assert len(player.of(WithdrawInput)) == 1
    if message is None:
        assert player.run.state == {"result": {"agreed": NO, "decided_by": "deadline", "answers": given}}
    else:
        assert player.run.error is not None
        assert (player.error, player.run.error.message) == ("HUMAN_INPUT_DEADLINE", message)
        assert player.run.error.details == ({"answers": given} if given else None)


def test_act_4a_an_approver_hands_their_place_to_somebody_who_has_none() -> None:
    player = asking(quorum={"of": THREE, "needed": 2})
    give(player, "ann", YES)
    token = player.token("a")
    for by, to, reason in (
        ("ann", "dora", "can't be delegated by 'ann', who has answered it"),
        ("bob", "carl", "can't be delegated to 'carl', who is an approver already"),
        ("dora", "emil", "its approvers are"),
        (None, "emil", "needs to know who delegates it"),
        ("bob", "", "a name is one line of 1 to 200 characters"),
    ):
        # Also for an admin: a place among approvers is nobody else's to give.
        with pytest.raises(WonderError, match=reason):
            check_delegation(token, Person(by, "admin"), to)
    with pytest.raises(NotPossible, match="can't be claimed: each of its approvers answers"):
        check_claim(token, Person("bob"))
    check_delegation(token, Person("bob", "operator"), "dora")
    player.bring(InputDelegated(token.id, "", "bob", "dora"))
    assert player.events("late_result_ignored")  # about another question
    player.bring(InputDelegated(token.id, str((token.wait or {})["item_id"]), "bob", "dora"))
    with pytest.raises(MayNotAnswer):
        give(player, "bob", YES)
    give(player, "dora", YES)
    assert player.run.status == "completed"


ROLE, NAMES = {"role": "author"}, {"names": ["ann"]}


@pytest.mark.parametrize(
    ("answerable_by", "person", "may"),
    [
        ({}, Person(None), True),
        ({}, Person("x", "viewer"), True),  # that answering needs an operator is for the door to say
        (NAMES, Person("ann", "operator"), True),
        (NAMES, Person("bob", "admin"), False),
        (NAMES, Person(None), False),
        (ROLE, Person("bob", "author"), True),
        (ROLE, Person("bob", "admin"), True),
        (ROLE, Person("bob", "operator"), False),
        (ROLE, Person("bob", "emperor"), False),
        (ROLE, Person("bob"), True),  # whoever has the machine
        ({**ROLE, **NAMES}, Person("ann", "operator"), True),
        ({**ROLE, **NAMES}, Person("bob", "author"), True),
        ({**ROLE, **NAMES}, Person("bob", "operator"), False),
        ({}, Person("claude", "admin", is_model=True), False),
        ({"models": True}, Person("claude", "operator", is_model=True), True),
        ({"models": True, **NAMES}, Person("claude", "admin", is_model=True), False),
    ],
)
def test_act_4_answerable_by_limits_who_may_answer(answerable_by: Any, person: Person, may: bool) -> None:
    token = asking(answerable_by=answerable_by).token("a")
    if may:
        assert check_person(token, person, {})
    else:
        with pytest.raises(MayNotAnswer):
            check_person(token, person, {})
        with pytest.raises((MayNotAnswer, NotPossible)):
            check_claim(token, person)


def test_act_4b_a_claim_keeps_others_from_answering_until_it_is_released_or_delegated() -> None:
    player = asking(assignee="{{name}}", input={"name": "ann"})
    (request,) = player.of(RequestInput)
    assert request.progress == {"assignee": "ann"}
    token_id, item_id = str(request.token_id), request.item_id

    def standing() -> dict[str, Any]:
        update = player.of(UpdateInput)[-1]
        assert update.item_id == item_id
        return update.progress  # type: ignore[no-any-return]

    assert check_claim(player.token("a"), Person("bob", "operator"))
    player.bring(InputClaimed(token_id, item_id, "bob"))
    assert standing() == {"assignee": "ann", "claimed_by": "bob", "claimed_ms": 1_000}
    token = player.token("a")
    assert not check_claim(token, Person("bob"))
    for refused in (
        lambda: check_claim(token, Person("ann")),
        lambda: check_person(token, Person("ann", "admin"), {}),
        lambda: check_release(token, Person("ann", "operator")),
        lambda: check_delegation(token, Person("ann", "operator"), "carl"),
    ):
        with pytest.raises(ItemClaimed, match="is claimed by 'bob'; they, or an admin, can release or delegate it"):
            refused()
    assert check_release(token, Person("ann", "admin"))
    player.bring(InputReleased(token_id, item_id, "ann"))
    assert standing() == {"assignee": "ann"}
    assert not check_release(player.token("a"), Person("bob", "operator"))
    # What is assigned to somebody is theirs to hand on, and an admin's.
    with pytest.raises(ItemClaimed, match="is assigned to 'ann'; they, or an admin, can delegate it"):
        check_delegation(player.token("a"), Person("bob", "operator"), "carl")
    check_delegation(player.token("a"), Person("ann", "operator"), "carl")
    player.bring(InputClaimed(token_id, item_id, "ann"))
    player.bring(InputDelegated(token_id, item_id, "ann", "carl"))
    assert standing() == {"assignee": "carl"}
    assert player.run.status == "waiting"
    give(player, "ann", {})  # who is asked, and who may answer, are two things
    assert player.run.status == "completed"


def test_act_4_evidence_is_read_when_the_question_is_asked_and_cut_where_it_is_large() -> None:
    large = "x" * 70_000
    fields = {"evidence": {"what": "input.what", "all": "input", "none": "state.none"}}
    node = {"kind": "human_input", "prompt": "?", **fields, **RESULT}
    (request,) = Player(workflow({"a": node}, [])).start({"what": 7, "large": large}).of(RequestInput)
    what, cut, none = request.evidence
    assert what == {"name": "what", "path": "input.what", "value": 7}
    assert none == {"name": "none", "path": "state.none", "value": None}
    assert cut["name"] == "all"
    assert cut["cut"]["bytes"] > 70_000
    assert len(cut["cut"]["start"]) == 1_000


def test_act_4b_people_are_reminded_again_and_again_until_the_question_is_closed() -> None:
    player = asking(remind_ms=20, deadline_ms=50, on_deadline={"default": NO})
    for times in (1, 2):
        player.fire("remind:")
        assert player.of(UpdateInput)[-1].progress == {"reminders": times, "reminded_ms": 1_000 + 20 * times}
        assert player.run.status == "waiting"
    player.fire("deadline:")
    assert player.run.status == "completed"
    assert player.run.timers == {}


def test_act_4b_a_question_is_reminded_of_at_most_a_thousand_times() -> None:
    player = asking(remind_ms=1)
    for _ in range(1_000):
        player.fire("remind:")
    assert player.run.timers == {}
    assert player.run.status == "waiting"


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"quorum": {"of": THREE, "needed": 3}}, [(InputDelegated, "ann", "dora"), (InputGiven, {"x": [1]}, "dora")]),
        ({"assignee": "ann"}, [(InputDelegated, "ann", "dora"), (InputClaimed, "eve"), (InputReleased, None)]),
    ],
)
def test_evt_2_what_becomes_of_a_question_is_folded_from_its_events(fields: Any, facts: list[Any]) -> None:
    player = asking(**fields, remind_ms=5)
    token_id, item_id = player.token("a").id, str((player.token("a").wait or {})["item_id"])
    for kind, *told_of in facts:
        player.bring(kind(token_id, item_id, *told_of))
        assert fold(player.events()) == comparable(take_snapshot(player.run))
        player.fire("remind:")
        assert fold(player.events()) == comparable(take_snapshot(player.run))
