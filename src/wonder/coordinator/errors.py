"""What can be wrong with what is asked of the coordinator."""

from collections.abc import Sequence

from wonder.errors import WonderError
from wonder.language.schemas import ValueFault


class InputRefused(WonderError):
    """The input of a run, or an answer, does not fit its schema; nothing was stored (CTL-17, ACT-4)."""

    code = "INPUT_REFUSED"

    def __init__(self, what: str, faults: Sequence[ValueFault]) -> None:
        super().__init__("\n".join([f"{what} does not fit its schema; nothing was changed", *map(str, faults)]))
        self.what, self.faults = what, tuple(faults)


class WorkflowDisabled(WonderError):
    """A workflow that is not enabled was to be started (RES-3)."""

    code = "WORKFLOW_DISABLED"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the workflow {name!r} is disabled; `wonder workflows enable {name}` lets runs of it be started"
        )
        self.name = name


class ProjectArchived(WonderError):
    """A workflow of a project that is archived was to be started (RES-5)."""

    code = "PROJECT_ARCHIVED"

    def __init__(self, workflow: str) -> None:
        super().__init__(
            f"the workflow {workflow!r} can't be started, because its project is archived; `wonder projects restore` "
            "or `wonder workspaces restore` makes it live again"
        )
        self.workflow = workflow


class KeyNeedsWorkflow(WonderError):
    """A workflow of a library was to be started by its own name with an idempotency key (RES-1, CTL-17)."""

    code = "KEY_NEEDS_WORKFLOW"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is a library's, and an idempotency key belongs to a workflow of the project; bind it with "
            f"`wonder workflows bind NAME {name}`, and start NAME with the key"
        )
        self.name = name


class TtlRefused(WonderError):
    """An event was to be kept for less than no time, or for longer than a century."""

    code = "TTL_REFUSED"

    def __init__(self, found: int, most: int) -> None:
        super().__init__(f"ttl_seconds is {found:,}; an event is kept for 0 to {most:,} seconds")
        self.found, self.most = found, most


class RunNotLive(WonderError):
    """A run was to be changed that is not there, or has ended."""

    code = "RUN_NOT_LIVE"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id!r} that could still be changed: it has ended, or never was")
        self.run_id = run_id


class RunQuarantined(WonderError):
    """A run was to be changed that is set aside, because its process died again and again while it was under way."""

    code = "RUN_QUARANTINED"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the run {run_id!r} is quarantined: its process died again and again while it was under way; find out why,"
            f" then `wonder runs resume {run_id}` lets it go on, and `wonder runs cancel {run_id}` ends it"
        )
        self.run_id = run_id


class ItemClosed(WonderError):
    """An inbox item was to be answered that is not open: it was answered, withdrawn, or never was (ACT-4)."""

    code = "ITEM_CLOSED"

    def __init__(self, item_id: str) -> None:
        super().__init__(f"the inbox has no open item {item_id!r}: it was answered or withdrawn, or never was")
        self.item_id = item_id


class EngineStopped(WonderError):
    """The engine of this process runs no more: another process has its lease, or it was closed (INV-5)."""

    code = "ENGINE_STOPPED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the engine of this process has stopped: {reason}; what is stored goes on in the next one")
        self.reason = reason


class TriggerInterrupted(WonderError):
    """A trigger was being fired while what it had decided was lost with a commit; it fires again from its rows."""

    code = "TRIGGER_INTERRUPTED"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"what the triggers of run {run_id!r} were about to start could not be stored")
        self.run_id = run_id


class CommitFailed(WonderError):
    """Something could not be stored for a reason that the store does not know: a fault of ours."""

    code = "COMMIT_FAILED"

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"what was decided could not be stored: {type(error).__name__}: {error}; please report this")
        self.error = error


class NoVectors(WonderError):
    """An engine without vectors was asked to fill a vector index."""

    code = "NO_VECTORS"

    def __init__(self) -> None:
        super().__init__("the process that runs the engine has no vectors; run it with the engine of a database")
