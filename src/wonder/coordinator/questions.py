"""Questions to people: answered, claimed, released and handed on, from outside of their runs (ACT-4, ACT-4b)."""

from collections.abc import Callable
from typing import Any

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import InputRefused, ItemClosed, RunQuarantined
from wonder.coordinator.live import LiveRun
from wonder.coordinator.outside import Also, is_quarantined
from wonder.engine.budget_gate import is_about_budget
from wonder.engine.control import check_answer
from wonder.engine.facts import Fact, GateAnswered, InputClaimed, InputDelegated, InputGiven, InputReleased
from wonder.engine.gates import (
    MayNotAnswer,
    NotPossible,
    Person,
    check_claim,
    check_delegation,
    check_person,
    check_release,
)
from wonder.engine.state import Token
from wonder.language.schemas import Schema, compile_validator
from wonder.language.schemas.equality import key_of
from wonder.language.values import JsonValue, check_value
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.reading import InboxItem, load_inbox_item
from wonder.storage.runs.recording import Batch
from wonder.storage.spending import extension_entry


class Questions:
    """The ways to a question in the inbox; what is done is durable when a method returns."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def answer(self, item_id: str, value: JsonValue, person: Person, also: Also | None = None) -> None:
        """Answer an inbox item; raises ItemClosed, InputRefused or what `check_person` does, and changes nothing then.

        An approver who gives the same answer again is told that it is taken, also once the question is closed.
        """
        check_value(value)
        check_value(person.name)
        item = await self._load(item_id)

        def fact_of(run: LiveRun) -> Fact | None:
            fact = (
                _gate_fact(run, item, value, person)
                if item.token_id is None
                else _answer_fact(run, item, value, person)
            )
            if fact is not None:
                batch = self._coordinator.commits.batch
                if item.approvers is None:
                    batch.keep_answer(item_id, value)
                _extend_budgets(batch, item, value, self._coordinator.clock.now_ms())
            return fact

        try:
            await self._bring(item, fact_of, also)
        except ItemClosed:
            # Read again, as what closed it may have come since, with this very answer.
            await self._coordinator.durable()
            if not _has_given(await self._load(item_id), person, value):
                raise
            await self._confirm(also)

    async def claim(self, item_id: str, person: Person, also: Also | None = None) -> None:
        """Let nobody else answer an inbox item; raises ItemClosed, or as `check_claim` does."""
        item = await self._load(item_id)

        def fact_of(run: LiveRun) -> Fact | None:
            token = _asking(run, item)
            return InputClaimed(token.id, item_id, str(person.name)) if check_claim(token, person) else None

        await self._bring(item, fact_of, also)

    async def release(self, item_id: str, person: Person, also: Also | None = None) -> None:
        """Let others answer an inbox item again; raises ItemClosed, or as `check_release` does."""
        item = await self._load(item_id)

        def fact_of(run: LiveRun) -> Fact | None:
            token = _asking(run, item)
            return InputReleased(token.id, item_id, person.name) if check_release(token, person) else None

        await self._bring(item, fact_of, also)

    async def delegate(self, item_id: str, person: Person, to: str, also: Also | None = None) -> None:
        """Hand an inbox item, or a place among its approvers, to another; raises as `check_delegation` does."""
        check_value(to)
        item = await self._load(item_id)

        def fact_of(run: LiveRun) -> Fact | None:
            token = _asking(run, item)
            check_delegation(token, person, to)
            return InputDelegated(token.id, item_id, person.name, to)

        await self._bring(item, fact_of, also)

    async def _load(self, item_id: str) -> InboxItem:
        try:
            return await load_inbox_item(self._coordinator.store, item_id)
        except NotFound:
            raise ItemClosed(item_id) from None

    async def _bring(self, item: InboxItem, fact_of: Callable[[LiveRun], Fact | None], also: Also | None) -> None:
        """Take the fact that a run's state leads to, if any; nothing is awaited between the two."""
        coordinator = self._coordinator
        run = await coordinator.residency.get(item.run_id) if item.status == "open" else None
        if run is None:
            if item.status == "open" and await is_quarantined(coordinator, item.run_id):
                raise RunQuarantined(item.run_id)
            raise ItemClosed(item.id)
        try:
            fact = fact_of(run)
            if also:
                also(coordinator.commits.batch)
                coordinator.commits.touch()
            if fact is not None:
                coordinator.take(run, fact)
        finally:
            coordinator.residency.rest(run)
        await coordinator.durable()

    async def _confirm(self, also: Also | None) -> None:
        if also:
            also(self._coordinator.commits.batch)
            self._coordinator.commits.touch()
        await self._coordinator.durable()


def _has_given(item: InboxItem, person: Person, value: JsonValue) -> bool:
    """Say whether this approver has given this answer to a question that is closed by now."""
    given = [one["answer"] for one in item.answers or () if one["by"] == person.name]
    return bool(given) and key_of(given[0]) == key_of(value)


def _asking(run: LiveRun, item: InboxItem) -> Token:
    """Find the token that asks; one that was answered may live on, at a join, and asks no more."""
    if item.token_id is None:
        raise NotPossible(item.id, "is about a time-out: whoever answers it first decides")
    token = run.state.tokens.get(item.token_id)
    if token is None or token.wait is None or token.wait.get("item_id") != item.id:
        raise ItemClosed(item.id)
    return token


def _answer_fact(run: LiveRun, item: InboxItem, value: JsonValue, person: Person) -> Fact | None:
    token = _asking(run, item)
    if is_about_budget(token):
        _refuse_models(item, person)
    elif not check_person(token, person, value):
        return None
    if faults := check_answer(token, value):
        raise InputRefused("the answer", faults)
    return InputGiven(token.id, item.id, value, person.name)


def _gate_fact(run: LiveRun, item: InboxItem, value: JsonValue, person: Person) -> Fact:
    if run.state.gate_item_id != item.id:
        raise ItemClosed(item.id)
    _refuse_models(item, person)
    schema = item.schema
    assert isinstance(schema, dict | bool)
    checked: Schema = schema
    if faults := compile_validator(checked).faults(value):
        raise InputRefused("the answer", faults)
    assert isinstance(value, dict)
    decision: Any = value["decision"]
    extend_ms: Any = value.get("extend_ms")
    return GateAnswered(item.id, decision, extend_ms, person.name)


def _refuse_models(item: InboxItem, person: Person) -> None:
    """Money and the end of a run are for people."""
    if person.is_model:
        raise MayNotAnswer(item.id, person.name, f"no model may decide about a {item.kind}")


def _extend_budgets(batch: Batch, item: InboxItem, value: Any, now_ms: int) -> None:
    """Add to the budgets that refused a call what a person gives them, with the answer that says so (RES-6)."""
    if item.kind == "budget" and value["decision"] == "extend":
        refused: Any = item.input
        scope_ids = [budget["id"] for budget in refused["budgets"]]
        batch.extend_budgets(extension_entry(scope_ids, value["extend_cents"], now_ms))
