"""The inbox: what runs wait for people to answer."""

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.run_records import Question, question_of
from wonder.storage.pages import LIMIT
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.own_runs import load_own_item
from wonder.storage.runs.reading import open_inbox


class InboxPage(Output, frozen=True):
    """Some questions, oldest first; `cursor` gets the next page, or is null at the end."""

    items: list[Question]
    cursor: str | None


class ListInbox(Input, frozen=True):
    """Which page."""

    limit: int = LIMIT
    cursor: str | None = None


@operation("inbox.list", role="viewer")
async def list_inbox(application: Application, given: ListInbox) -> InboxPage:
    """List what the runs of the project wait for people to answer."""
    page = await open_inbox(application.store, application.home.project_id, limit=given.limit, cursor=given.cursor)
    return InboxPage(items=[question_of(item) for item in page.items], cursor=page.cursor)


class OneQuestion(Input, frozen=True):
    """A question of the inbox."""

    item_id: str


@operation("inbox.show", role="viewer")
async def show_question(application: Application, given: OneQuestion) -> Question:
    """Show a question that is open, with the schema that its answer must fit."""
    item = await load_own_item(application.store, application.home.project_id, given.item_id)
    if item.status != "open":
        raise NotFound("open inbox item", given.item_id)
    return question_of(item)
