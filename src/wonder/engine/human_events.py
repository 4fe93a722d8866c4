"""What events about questions to people say; `events.py` declares them with all others."""

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

Item = Annotated[str, Meta(description="the id of the item in the inbox")]
By = Annotated[str | None, Meta(description="who it was, if that is known")]


class HumanInputRequested(TypedDict):
    """A person was asked: by a node, at a budget or at the run's time-out."""

    item_id: Item
    prompt: Annotated[str, Meta(description="the question")]


class HumanInputClaimed(TypedDict):
    """Somebody claimed a question: nobody else may answer it."""

    item_id: Item
    by: Annotated[str, Meta(description="who")]


class HumanInputReleased(TypedDict):
    """A claimed question is free again."""

    item_id: Item
    by: By


class HumanInputDelegated(TypedDict):
    """A question, or the place of an approver, was handed to another person."""

    item_id: Item
    by: By
    to: Annotated[str, Meta(description="who is asked from now on")]


class HumanInputReminded(TypedDict):
    """It was time to remind people of a question that is still open."""

    item_id: Item
    reminders: Annotated[int, Meta(description="how often by now")]


class HumanInputCounted(TypedDict):
    """One of several approvers answered."""

    item_id: Item
    by: Annotated[str, Meta(description="who")]
    answer: Annotated[Any, Meta(description="what")]


class HumanInputAnswered(TypedDict):
    """A person answered, or enough approvers did."""

    item_id: Item
    decided_by: NotRequired[Annotated[str, Meta(description="of a quorum: `agreement`, `majority` or `disagreement`")]]
    decision: NotRequired[Annotated[str, Meta(description="`extend`, `abort` or `fail`, at a budget or a time-out")]]
    by: By


class HumanInputWithdrawn(TypedDict):
    """A question was taken back: nobody has to answer it any more."""

    item_id: Item
