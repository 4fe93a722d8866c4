"""The compiled graph: what a run of one definition version follows, made once and shared by all its runs."""

from collections.abc import Callable
from typing import Final, Literal

from wonder.definitions.records.graph import MergeStrategy, OnEarlyComplete, OnFanInTimeout, OnWorkflowTimeout
from wonder.engine.event_type import Event
from wonder.engine.events import TRANSITIONS_EVALUATED, TransitionsEvaluated
from wonder.engine.pure import PureAction
from wonder.engine.state_check import StateCheck
from wonder.engine.waiting_tasks import WaitingTask
from wonder.engine.writing import Writes
from wonder.language.collection import Collection
from wonder.language.expressions import Expression
from wonder.language.mappings import Mapping
from wonder.language.paths import Path, Query
from wonder.language.paths.getters import Getter
from wonder.language.schemas import Validator
from wonder.language.values import JsonValue

ALL: Final = 0
"""`Join.needed` of the strategy `all`."""


class Merge:
    """How the outputs of the arrived branches become one value (CTL-11)."""

    __slots__ = ("from_output", "source", "strategy", "writes")

    def __init__(self, source: Path, writes: Writes, strategy: MergeStrategy) -> None:
        self.source, self.writes, self.strategy = source, writes, strategy
        # Most merges read what the branch wrote: that needs no view of the whole context.
        self.from_output: Path | None = source[2:] if source[:2] == ("_branch", "output") else None


class Join:
    """One fan-in: the node that it leads to, and when it goes on (CTL-8)."""

    __slots__ = (
        "index",
        "merge",
        "needed",
        "node",
        "of_node_id",
        "of_transition_id",
        "on_early_complete",
        "on_timeout",
        "strategy",
        "timeout_ms",
    )

    def __init__(self, index: int, node: "CompiledNode") -> None:
        self.index, self.node = index, node
        self.strategy: JsonValue = "all"
        self.needed = ALL
        self.of_node_id: str | None = None
        self.of_transition_id: str | None = None
        self.merge: Merge | None = None
        self.on_early_complete: OnEarlyComplete = "cancel"
        self.timeout_ms: int | None = None
        self.on_timeout: OnFanInTimeout = "fail"


class Foreach:
    """One branch for each element of a collection."""

    __slots__ = ("collection", "item_var", "max_parallel")

    def __init__(self, collection: Collection, item_var: str, max_parallel: int | None) -> None:
        self.collection, self.item_var, self.max_parallel = collection, item_var, max_parallel


class CompiledTransition:
    """An edge, with its condition as a function."""

    __slots__ = (
        "condition",
        "foreach",
        "id",
        "join",
        "loop_timeout_ms",
        "max_iterations",
        "name",
        "reads",
        "reads_branch",
        "spawn_count",
        "to",
    )

    def __init__(self, id: str, name: str, to: "CompiledNode") -> None:
        self.id, self.name, self.to = id, name, to
        self.condition: Expression | None = None
        self.reads: tuple[tuple[str, Getter], ...] = ()
        """The paths that the condition reads, by the name that people know."""
        self.reads_branch = False
        self.spawn_count: int | None = None
        self.foreach: Foreach | None = None
        self.join: Join | None = None
        self.max_iterations: int | None = None
        self.loop_timeout_ms: int | None = None

    @property
    def limited(self) -> bool:
        """Whether a `loop_config` limits it."""
        return self.max_iterations is not None or self.loop_timeout_ms is not None


class Tier:
    """Transitions of one priority; the first tier with a match is taken (CTL-3)."""

    __slots__ = ("always", "always_event", "fans_out", "priority", "transitions")

    def __init__(self, priority: int, transitions: tuple[CompiledTransition, ...], *, joined: bool) -> None:
        self.priority, self.transitions = priority, transitions
        self.fans_out = joined and len(transitions) > 1
        """Whether even a single match makes a branch (CTL-5)."""
        only = transitions[0]
        self.always: TransitionsEvaluated | None = None
        """What `transitions_evaluated` says where there is nothing to choose; shared, never changed."""
        self.always_event: Event | None = None
        if len(transitions) == 1 and only.condition is None and not only.limited:
            candidate: JsonValue = {"transition": only.name, "to": only.to.ref, "matched": True}
            self.always = {"tiers": [{"priority": priority, "candidates": [candidate]}]}
            self.always_event = TRANSITIONS_EVALUATED(self.always)


class CompiledNode:
    """A node, with its mappings as functions; `kind` says who carries it out."""

    __slots__ = (
        "error_tiers",
        "id",
        "input_mapping",
        "input_reads_branch",
        "joins",
        "kind",
        "limited_transitions",
        "promised",
        "pure",
        "queue",
        "ref",
        "rides_along",
        "task_id",
        "task_version",
        "tiers",
        "tolerated_step",
        "wait",
        "writes",
    )

    def __init__(self, id: str, ref: str, task_id: str, task_version: int) -> None:
        self.id, self.ref, self.task_id, self.task_version = id, ref, task_id, task_version
        self.kind: Literal["task", "pure", "wait"] = "task"
        self.queue: str | None = None
        self.rides_along = False
        """Whether its task is a transform, which needs no commit of its own (PHS-5): it may begin before it is durable
        that it was dispatched, because nobody could tell."""
        self.input_mapping: Mapping
        self.input_reads_branch = False
        self.promised: tuple[Query, ...] = ()
        """Queries of its input mapping for a value that a schema of the workflow requires (CTX-5c)."""
        self.writes: Writes | None = None
        self.pure: PureAction | None = None
        self.tolerated_step: str | None = None
        """The ref of its sole step, if the engine carries that out and the node completes when it fails (TSK-3)."""
        self.wait: WaitingTask | None = None
        self.tiers: tuple[Tier, ...] = ()
        self.error_tiers: tuple[Tier, ...] = ()
        """The same with only those transitions that read `_last_error` (CTL-15)."""
        self.limited_transitions: tuple[CompiledTransition, ...] = ()
        self.joins: tuple[Join, ...] = ()
        """Fan-ins of all the branches that leaving this node makes, in the order written."""

    @property
    def leads_to_one_task(self) -> bool:
        """Whether a run that leaves it goes on with the task of one other node, whichever is chosen."""
        return bool(self.tiers) and all(
            not tier.fans_out and len(tier.transitions) == 1 and _is_plain(tier.transitions[0]) for tier in self.tiers
        )


def _is_plain(transition: CompiledTransition) -> bool:
    makes_branches = transition.foreach is not None or transition.spawn_count is not None
    return transition.to.kind == "task" and transition.join is None and not makes_branches


class CompiledTrigger:
    """A workflow to start when a run has completed (PHS-6); its refs are functions of the run's context."""

    __slots__ = (
        "for_each",
        "id",
        "inputs",
        "max_retries",
        "on_timeout",
        "ordinal",
        "shared_refs",
        "timeout_ms",
        "workflow_id",
    )

    def __init__(
        self,
        id: str,
        ordinal: int,
        workflow_id: str,
        inputs: Getter,
        shared_refs: tuple[tuple[str, Getter], ...],
        for_each: tuple[str, Getter] | None,
        timeout_ms: int | None,
        on_timeout: OnWorkflowTimeout | None,
        max_retries: int,
    ) -> None:
        self.id, self.ordinal, self.workflow_id, self.inputs = id, ordinal, workflow_id, inputs
        self.shared_refs = shared_refs
        """The refs, as written, that are the same for each item."""
        self.for_each = for_each
        self.timeout_ms, self.on_timeout, self.max_retries = timeout_ms, on_timeout, max_retries


class CompiledWorkflow:
    """A definition version, ready to be run."""

    def __init__(self, id: str, version: int, name: str) -> None:
        self.id, self.version, self.name = id, version, name
        self.nodes: dict[str, CompiledNode] = {}
        self.transitions: dict[str, CompiledTransition] = {}
        self.joins: dict[str, Join] = {}
        """Fan-ins by the id of the node that they lead to."""
        self.joins_of_transition: dict[str, tuple[Join, ...]] = {}
        self.initial: CompiledNode
        self.input_defaults: Callable[[JsonValue], JsonValue]
        self.input_validator: Validator
        self.output_validator: Validator | None = None
        self.initial_state: dict[str, JsonValue] = {}
        self.state_check: StateCheck
        self.timeout_ms: int | None = None
        self.on_timeout: OnWorkflowTimeout = "human_gate"
        self.triggers: tuple[CompiledTrigger, ...] = ()
        self.has_transforms = False
        """Whether the task of any node rides along."""

    def joins_of(self, node: CompiledNode, transition: CompiledTransition) -> tuple[Join, ...]:
        """Give the fan-ins that a branch of this node and transition can count for."""
        own = self.joins_of_transition.get(transition.id)
        return node.joins if own is None else node.joins + own
