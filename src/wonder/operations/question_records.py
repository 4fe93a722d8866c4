"""Records of questions to people: what is asked of whom, and who answered what when."""

from typing import Any

from msgspec import UNSET, UnsetType

from wonder.operations.outputs import Output
from wonder.storage.runs.reading import InboxItem


class GivenAnswer(Output, frozen=True):
    """Who answered what when."""

    by: str | None
    answer: Any
    at_ms: int


class Question(Output, frozen=True):
    """Something that a run asks a person, or several."""

    id: str
    run_id: str
    kind: str
    prompt: str
    schema: Any
    due_ms: int | None
    assignee: str | None
    role: str | None
    """Whose question it is, where it has no assignee: that of all with at least this role."""
    claimed_by: str | None
    """The only one who may answer it now."""
    approvers: list[str] | None
    """Those who are asked, where a quorum decides."""
    needed: int | None
    """How many of them must give the same answer."""
    answers: list[GivenAnswer]
    """What was answered so far."""


class Evidence(Output, frozen=True):
    """A value of the context as it was when the question was asked; `cut` in place of a large one."""

    name: str
    path: str
    value: Any | UnsetType = UNSET
    cut: Any | UnsetType = UNSET
    """How many `bytes` it has, and how it begins (`start`)."""


class QuestionDetails(Question, frozen=True):
    """All that is shown of a question, open or closed."""

    status: str
    """`open`, `answered` or `withdrawn`."""
    workflow: str
    """The name of the definition of its run."""
    evidence: list[Evidence]
    answerable_by: Any
    """Who may answer it; null where everybody may."""
    quorum: Any
    """As its definition says; null where one answer decides."""
    remind_ms: int | None
    reminders: int
    """How often people were reminded of it."""
    reminded_ms: int | None
    claimed_ms: int | None
    answer: Any
    """What came of it: the answer, or what approvers have decided."""
    created_ms: int
    closed_ms: int | None


class QuestionAnswer(GivenAnswer, frozen=True):
    """An answer, and what was asked."""

    item_id: str
    prompt: str


def question_of(item: InboxItem) -> Question:
    """Give an inbox item as those see it who may answer it."""
    return Question(**_fields(item))


def details_of(item: InboxItem, workflow: str) -> QuestionDetails:
    """Give all that is shown of an inbox item."""
    rules, progress = item.rules, item.progress
    return QuestionDetails(
        **_fields(item),
        status=item.status,
        workflow=workflow,
        evidence=[Evidence(**one) for one in item.evidence],
        answerable_by=rules.get("answerable_by"),
        quorum=rules.get("quorum"),
        remind_ms=rules.get("remind_ms"),
        reminders=progress.get("reminders", 0),
        reminded_ms=progress.get("reminded_ms"),
        claimed_ms=progress.get("claimed_ms"),
        answer=item.answer,
        created_ms=item.created_ms,
        closed_ms=item.closed_ms,
    )


def answers_to(item: InboxItem) -> list[GivenAnswer]:
    """Give who answered a question what and when."""
    if item.answers is not None:
        return [GivenAnswer(**one) for one in item.answers]
    if item.status != "answered" or item.closed_ms is None:
        return []
    return [GivenAnswer(by=item.answered_by, answer=item.answer, at_ms=item.closed_ms)]


def _fields(item: InboxItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "run_id": item.run_id,
        "kind": item.kind,
        "prompt": item.prompt,
        "schema": item.schema,
        "due_ms": item.due_ms,
        "assignee": item.assignee,
        "role": item.role,
        "claimed_by": item.claimed_by,
        "approvers": item.approvers,
        "needed": item.rules.get("quorum", {}).get("needed"),
        "answers": answers_to(item),
    }
