"""Orders: what a person or a program wants the engine to do, as records that can be handed to another process (CMD-5).

The process that runs the engine carries an order out itself. Any other process stores it as a request, by the order's
`kind` and its fields, and waits for the answer.
"""

from typing import Any, ClassVar, Literal, TypeAlias, get_args

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict

from wonder.errors import WonderError
from wonder.language.values import JsonValue

EVENT_TTL_SECONDS = 86_400


RetryVersion: TypeAlias = int | Literal["latest"] | None


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that the engine is to do; `starts` says whether its result is a run."""

    kind: ClassVar[str]
    starts: ClassVar[bool] = False


class StartRun(Order, frozen=True, kw_only=True):
    """Start a run of a workflow."""

    kind = "start"
    starts = True
    workflow_id: str | None = None
    version: int | None = None
    """With which version, whatever is pinned; as the workflow says if it is null."""
    workflow_def_id: str | None = None
    """Instead of `workflow_id`: a library's definition, which is started by its own name."""
    name: str | None = None
    """What the caller named, of a library."""
    input: Any = None
    idempotency_key: str | None = None
    function_sources: list[str] | None = None
    """Where its functions come from, if it may run only in a process with the same ones."""


class RetryRun(Order, frozen=True, kw_only=True):
    """Begin a failed run again, as a new one, just before its failure."""

    kind = "retry"
    starts = True
    run_id: str
    version: RetryVersion = None
    """With which version of its workflow it goes on: a number or `latest`; its own if it is null."""


class ForkRun(Order, frozen=True, kw_only=True):
    """Begin a new run as another was after an event, with another state if one is given."""

    kind = "fork"
    starts = True
    run_id: str
    after: int
    state: Any = None


class FireSchedule(Order, frozen=True, kw_only=True):
    """Start a run of a schedule now."""

    kind = "fire_schedule"
    starts = True
    schedule_id: str


class IndexVectors(Order, frozen=True, kw_only=True):
    """Embed what is missing in a vector index; it has begun when this is answered."""

    kind = "index_vectors"
    index_id: str


class CancelRun(Order, frozen=True, kw_only=True):
    """End a run with all that is live in it."""

    kind = "cancel"
    run_id: str
    reason: str | None = None


class PauseRun(Order, frozen=True, kw_only=True):
    """Let a run dispatch nothing more."""

    kind = "pause"
    run_id: str


class ResumeRun(Order, frozen=True, kw_only=True):
    """Let a paused or quarantined run go on."""

    kind = "resume"
    run_id: str


class AnswerItem(Order, frozen=True, kw_only=True):
    """Answer an inbox item; `role` and `is_model` are what a door knows of who answers, as in `Person`."""

    kind = "answer"
    item_id: str
    answer: Any
    by: str | None = None
    role: str | None = None
    is_model: bool = False


class ClaimItem(Order, frozen=True, kw_only=True):
    """Let nobody else answer an inbox item."""

    kind = "claim"
    item_id: str
    by: str | None = None
    role: str | None = None
    is_model: bool = False


class ReleaseItem(Order, frozen=True, kw_only=True):
    """Let others answer an inbox item again."""

    kind = "release"
    item_id: str
    by: str | None = None
    role: str | None = None
    is_model: bool = False


class DelegateItem(Order, frozen=True, kw_only=True):
    """Hand an inbox item, or a place among its approvers, to another person."""

    kind = "delegate"
    item_id: str
    to: str
    by: str | None = None
    role: str | None = None
    is_model: bool = False


class SendEvent(Order, frozen=True, kw_only=True):
    """Wake what waits for an event, or keep the event for the first that comes."""

    kind = "event"
    event: str
    key: str | None = None
    payload: Any = None
    sender_id: str | None = None
    ttl_seconds: int = EVENT_TTL_SECONDS


AnyOrder: TypeAlias = (
    StartRun
    | RetryRun
    | ForkRun
    | FireSchedule
    | CancelRun
    | PauseRun
    | ResumeRun
    | AnswerItem
    | ClaimItem
    | ReleaseItem
    | DelegateItem
    | SendEvent
    | IndexVectors
)
ORDERS: dict[str, type[AnyOrder]] = {order.kind: order for order in get_args(AnyOrder)}


class _Payload(Struct, frozen=True, forbid_unknown_fields=True):
    """An order as a request stores it."""

    project_id: str
    order: Any


def payload_of(order: Order, project_id: str) -> JsonValue:
    """Give what a request stores: the project that asks, and the fields of its order."""
    return {"project_id": project_id, "order": asdict(order)}


def order_of(kind: str, payload: JsonValue) -> tuple[AnyOrder, str]:
    """Read an order that another process has stored, and the project that asks; raises UnknownRequest or BadRequest."""
    if kind not in ORDERS:
        raise UnknownRequest(kind)
    try:
        stored = convert(payload, _Payload)
        return convert(stored.order, ORDERS[kind]), stored.project_id
    except ValidationError as error:
        raise BadRequest(kind, str(error)) from None


class UnknownRequest(WonderError):
    """Another process asks for something that this version does not know."""

    code = "UNKNOWN_REQUEST"

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"the process that runs the engine does not know the request {kind!r}; is it an older version?"
        )
        self.kind = kind


class BadRequest(WonderError):
    """Another process asks for something in a form that this version does not know."""

    code = "BAD_REQUEST"

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"the request {kind!r} can't be read: {reason}; does another version of Wonder ask for it?")
        self.kind, self.reason = kind, reason
