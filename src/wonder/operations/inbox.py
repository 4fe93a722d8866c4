"""The inbox: what runs wait for people to answer, and who may, does and did (ACT-4)."""

from typing import Any, Literal

from wonder.app.application import Application
from wonder.coordinator.orders import AnswerItem, ClaimItem, DelegateItem, ReleaseItem
from wonder.definitions.records.workflows import Workflow
from wonder.engine.gates import Person
from wonder.operations.declaring import ROLES, Input, operation
from wonder.operations.outputs import Output
from wonder.operations.question_records import Question, QuestionDetails, details_of, question_of
from wonder.operations.runs import find_run
from wonder.storage.named_resources import find_resource
from wonder.storage.pages import LIMIT
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.own_runs import load_own_item
from wonder.storage.runs.reading import InboxFilter, open_inbox


class InboxPage(Output, frozen=True):
    """Some questions, oldest first; `cursor` gets the next page, or is null at the end."""

    items: list[Question]
    cursor: str | None


class ListInbox(Input, frozen=True):
    """Which questions, and which page of them."""

    mine: bool = False
    """Only those whose turn it is yours: claimed by you, assigned to you or your role, or waiting for your approval."""
    by: str | None = None
    """Who you are, for `mine`, where nothing else says so."""
    assignee: str | None = None
    role: Literal["operator", "author", "admin"] | None = None
    """Only questions for this role."""
    claimed: bool | None = None
    """Only those that somebody has claimed, or only those that nobody has."""
    workflow: str | None = None
    """Only those of runs of the workflow with this name, of any version."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("inbox.list", role="viewer")
async def list_inbox(application: Application, given: ListInbox) -> InboxPage:
    """List what the runs of the project wait for people to answer."""
    project_id, person = application.home.project_id, _person(application, given.by)
    definition_id = None
    if given.workflow is not None:
        workflow = await find_resource(application.store, Workflow, project_id, given.workflow)
        if workflow is None:
            raise NotFound("workflow", given.workflow)
        definition_id = workflow.workflow_def_id
    which = InboxFilter(
        person=(person.name or "") if given.mine else None,
        roles=[role for role in ROLES if person.has_role(role)],
        assignee=given.assignee,
        role=given.role,
        claimed=given.claimed,
        workflow_def_id=definition_id,
    )
    page = await open_inbox(application.store, project_id, limit=given.limit, cursor=given.cursor, which=which)
    return InboxPage(items=[question_of(item) for item in page.items], cursor=page.cursor)


class OneQuestion(Input, frozen=True):
    """A question of the inbox."""

    item_id: str


@operation("inbox.show", role="viewer")
async def show_question(application: Application, given: OneQuestion) -> QuestionDetails:
    """Show a question with its evidence, the schema of its answer, and who answered what when; open or closed."""
    item = await load_own_item(application.store, application.home.project_id, given.item_id)
    header = await find_run(application, item.run_id)
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    return details_of(item, definition.name)


class Answer(Input, frozen=True):
    """An answer to a question."""

    item_id: str
    answer: Any
    by: str | None = None
    """Who answers, where no credential says so."""


class Answered(Output, frozen=True):
    """An inbox item that was answered."""

    item_id: str
    answered: bool
    needs_engine: bool
    """Whether its run goes on only with another engine: this process decides, and runs no tasks."""
    is_open: bool
    """Whether more approvers must answer before the run goes on."""


@operation("inbox.answer", role="operator", changes=True, needs_engine=True)
async def answer_item(application: Application, given: Answer) -> Answered:
    """Answer what a run asks a person; an answer that does not fit is refused and changes nothing."""
    project_id = application.home.project_id
    await load_own_item(application.store, project_id, given.item_id)
    person = _person(application, given.by)
    await application.order(
        AnswerItem(
            item_id=given.item_id, answer=given.answer, by=person.name, role=person.role, is_model=person.is_model
        )
    )
    item = await load_own_item(application.store, project_id, given.item_id)
    has_ended = (await find_run(application, item.run_id)).has_ended
    return Answered(
        item_id=given.item_id,
        answered=True,
        needs_engine=application.engine is not None and not has_ended and item.status != "open",
        is_open=item.status == "open",
    )


class ClaimQuestion(Input, frozen=True):
    """A question, and who claims or releases it."""

    item_id: str
    by: str | None = None
    """Who does it, where no credential says so."""


@operation("inbox.claim", role="operator", changes=True, needs_engine=True)
async def claim_question(application: Application, given: ClaimQuestion) -> QuestionDetails:
    """Claim a question: nobody else may answer it until it is released or delegated."""
    person = _person(application, given.by)
    await application.order(
        ClaimItem(item_id=given.item_id, by=person.name, role=person.role, is_model=person.is_model)
    )
    return await show_question(application, OneQuestion(item_id=given.item_id))


@operation("inbox.release", role="operator", changes=True, needs_engine=True)
async def release_question(application: Application, given: ClaimQuestion) -> QuestionDetails:
    """Release a question that you have claimed, or as an admin that anybody has."""
    person = _person(application, given.by)
    await application.order(
        ReleaseItem(item_id=given.item_id, by=person.name, role=person.role, is_model=person.is_model)
    )
    return await show_question(application, OneQuestion(item_id=given.item_id))


class DelegateQuestion(Input, frozen=True):
    """A question, and who is to answer it."""

    item_id: str
    to: str
    by: str | None = None
    """Who hands it on, where no credential says so."""


@operation("inbox.delegate", role="operator", changes=True, needs_engine=True)
async def delegate_question(application: Application, given: DelegateQuestion) -> QuestionDetails:
    """Hand a question to another person, or your place among its approvers."""
    person = _person(application, given.by)
    await application.order(
        DelegateItem(item_id=given.item_id, to=given.to, by=person.name, role=person.role, is_model=person.is_model)
    )
    return await show_question(application, OneQuestion(item_id=given.item_id))


def _person(application: Application, by: str | None) -> Person:
    """Say who asks: what a credential says, and not the body of a request; on this machine, what they say (KEY-3)."""
    caller = application.caller
    if caller is None or caller.kind == "local":
        return Person(by)
    return Person(caller.name, caller.role, is_model=caller.kind == "model")
