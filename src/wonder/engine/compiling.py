"""Compiling: from the records of one definition version to the graph that its runs follow."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from wonder.definitions.checks.branches import Branches
from wonder.definitions.drafts import NodeDraft, TransitionDraft, WorkflowDraft
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import MOfN, StructuredCondition, Synchronization, Transition, WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Trigger
from wonder.engine.compiled import ALL, CompiledNode, CompiledTransition, CompiledWorkflow, Foreach, Join, Merge, Tier
from wonder.engine.pure import AssertAction, MetricAction, PureAction, UpdateAction
from wonder.engine.state_check import StateCheck
from wonder.engine.triggers import compile_triggers
from wonder.engine.waiting_tasks import WaitingTask
from wonder.engine.writing import Writes
from wonder.language.collection import compile_collection
from wonder.language.expressions import ROOTS, Expression, Names, compile_expression, compile_structured, show_path
from wonder.language.mappings import compile_mapping
from wonder.language.paths import Path, Query, parse_dotted
from wonder.language.paths.getters import getter
from wonder.language.schemas import compile_defaults, compile_validator
from wonder.language.schemas.presence import is_promised

Key: TypeAlias = tuple[str, int]


def compile_workflow(
    workflow: WorkflowDef,
    tasks: Mapping[Key, TaskDef],
    actions: Mapping[Key, ActionDef],
    triggers: Sequence[Trigger] = (),
) -> CompiledWorkflow:
    """Compile a checked definition; `tasks` and `actions` hold at least those that it uses, by id and version."""
    compiled = _Compiler(workflow, tasks, actions).compile()
    compiled.triggers = compile_triggers(triggers)
    return compiled


class _Compiler:
    def __init__(self, workflow: WorkflowDef, tasks: Mapping[Key, TaskDef], actions: Mapping[Key, ActionDef]) -> None:
        self.workflow, self.tasks, self.actions = workflow, tasks, actions
        self.compiled = CompiledWorkflow(workflow.id, workflow.version, workflow.name)
        self.promised: dict[Path | None, bool] = {}
        self.groups = _group_names(workflow)
        self.branches = Branches(_by_ids(workflow, self.groups))

    def compile(self) -> CompiledWorkflow:
        compiled, workflow = self.compiled, self.workflow
        for node in workflow.nodes:
            compiled.nodes[node.id] = CompiledNode(node.id, node.ref, node.task_id, node.task_version)
        compiled.initial = compiled.nodes[workflow.initial_node_id]
        self._schemas()
        for node in workflow.nodes:
            target = compiled.nodes[node.id]
            target.input_mapping = compile_mapping(node.input_mapping)
            roots = [query.prefix[:1] for _, query in target.input_mapping.queries]
            target.input_reads_branch = any(root in ((), ("_branch",)) for root in roots)
            target.promised = tuple(query for _, query in target.input_mapping.queries if self._is_promised(query))
            target.writes = Writes(node.output_mapping) if node.output_mapping else None
            self._task_of(target)
        for transition in workflow.transitions:
            compiled.transitions[transition.id] = self._transition(transition)
        for node in workflow.nodes:
            self._tiers(compiled.nodes[node.id])
        return compiled

    def _schemas(self) -> None:
        compiled, workflow = self.compiled, self.workflow
        compiled.timeout_ms, compiled.on_timeout = workflow.timeout_ms, workflow.on_timeout
        compiled.input_defaults = compile_defaults(workflow.input_schema)
        compiled.input_validator = compile_validator(workflow.input_schema)
        if workflow.output_schema not in ({}, True):
            compiled.output_validator = compile_validator(workflow.output_schema)
        initial = compile_defaults(workflow.context_schema)({})
        assert isinstance(initial, dict), "defaults fill an object"
        compiled.initial_state = initial
        compiled.state_check = StateCheck(workflow.context_schema)

    def _is_promised(self, query: Query) -> bool:
        """Say whether a schema of the workflow requires the value that a query finds."""
        path = query.path
        if path not in self.promised:
            workflow = self.workflow
            roots = {"input": workflow.input_schema, "state": workflow.context_schema, "output": workflow.output_schema}
            schema = roots.get(str(path[0])) if path else None
            self.promised[path] = schema is not None and path is not None and is_promised(schema, path[1:])
        return self.promised[path]

    def _names(self, node_id: str, reads: tuple[str, ...] = ()) -> Names:
        if node_id in self.branches.unknown:
            item_vars = {t.foreach.item_var for t in self.workflow.transitions if t.foreach}
        else:
            item_vars = self.branches.item_vars(node_id)
        return Names(ROOTS | item_vars, reads)

    def _task_of(self, node: CompiledNode) -> None:
        task = self.tasks[node.task_id, node.task_version]
        node.queue = task.queue
        used = [self.actions[step.action_id, step.action_version] for step in task.steps]
        # Of a package's kind nobody here knows whether it tells the truth.
        kinds = [KINDS.own.get(action.kind) for action in used]
        if any(kind and kind.pure and kind.carried_out == "acting" for kind in kinds):
            node.rides_along = all(kind and kind.pure for kind in kinds) and not any(one.idempotency for one in used)
            self.compiled.has_transforms |= node.rides_along
        if len(task.steps) != 1:
            return
        step = task.steps[0]
        action, kind = used[0], kinds[0]
        node.tolerated_step = step.ref if step.on_failure == "continue" else None
        if KINDS.waits(action.kind):
            node.kind, node.wait = "wait", WaitingTask(task, step, action)
        elif kind and kind.scoped and action.implementation.get("scope") == "workflow":
            node.kind, node.pure = "pure", self._pure(node, action)

    def _pure(self, node: CompiledNode, action: ActionDef) -> PureAction:
        names = self._names(node.id)
        implementation = KINDS.own[action.kind].configuration.model_validate(action.implementation)
        match action.kind:
            case "update_context":
                return UpdateAction(implementation, names, self.workflow.context_schema, self.workflow.output_schema)
            case "assert":
                return AssertAction(implementation, names)
            case "emit_metric":
                return MetricAction(implementation, names)
        raise AssertionError(f"the engine carries out no {action.kind}")

    def _transition(self, transition: Transition) -> CompiledTransition:
        compiled = CompiledTransition(
            transition.id, transition.ref or transition.id, self.compiled.nodes[transition.to_node_id]
        )
        compiled.condition = self._condition(transition)
        if compiled.condition:
            compiled.reads_branch = any(path[0] == "_branch" for path in compiled.condition.paths)
            compiled.reads = tuple((show_path(path), getter(path)) for path in compiled.condition.paths)
        compiled.spawn_count = transition.spawn_count
        if transition.foreach:
            each = transition.foreach
            collection = compile_collection(each.collection, self._names(transition.from_node_id))
            compiled.foreach = Foreach(collection, each.item_var, each.max_parallel)
        if transition.loop_config:
            compiled.max_iterations = transition.loop_config.max_iterations
            compiled.loop_timeout_ms = transition.loop_config.timeout_ms
        if transition.synchronization:
            compiled.join = self._join(transition.synchronization, compiled.to)
        return compiled

    def _condition(self, transition: Transition) -> Expression | None:
        condition = transition.condition
        if condition is None:
            return None
        if isinstance(condition, StructuredCondition):
            return compile_structured(condition.definition, self._names(transition.from_node_id))
        return compile_expression(condition.expr, self._names(transition.from_node_id, tuple(condition.reads)))

    def _join(self, synchronization: Synchronization, node: CompiledNode) -> Join:
        known = self.compiled.joins.get(node.id)
        if known:
            return known  # CTL-8: all synchronizations into one node are equal
        join = Join(len(self.compiled.joins), node)
        strategy = synchronization.strategy
        match strategy:
            case MOfN(m_of_n=count):
                join.strategy, join.needed = {"m_of_n": count}, count
            case "any":
                join.strategy, join.needed = "any", 1
            case "all":
                join.strategy, join.needed = "all", ALL
            case _:
                assert_never(strategy)
        join.on_early_complete = synchronization.on_early_complete
        join.timeout_ms, join.on_timeout = synchronization.timeout_ms, synchronization.on_timeout
        if synchronization.merge:
            merge = synchronization.merge
            writes = Writes({merge.target: "$"})
            join.merge = Merge(parse_dotted(merge.source), writes, merge.strategy)
        self.compiled.joins[node.id] = join
        named = self.groups.get(synchronization.sibling_group)
        if named in self.compiled.nodes:
            join.of_node_id = named
            origin = self.compiled.nodes[named]
            origin.joins = (*origin.joins, join)
        elif named is not None:
            join.of_transition_id = named
            joins = self.compiled.joins_of_transition
            joins[named] = (*joins.get(named, ()), join)
        return join

    def _tiers(self, node: CompiledNode) -> None:
        leaving = [t for t in self.workflow.transitions if t.from_node_id == node.id]
        node.tiers = self._grouped(node, leaving)
        node.error_tiers = self._grouped(node, [t for t in leaving if self._reads_last_error(t)])
        compiled = [self.compiled.transitions[t.id] for t in leaving]
        node.limited_transitions = tuple(t for t in compiled if t.limited)

    def _grouped(self, node: CompiledNode, transitions: list[Transition]) -> tuple[Tier, ...]:
        by_priority: dict[int, list[CompiledTransition]] = {}
        for transition in transitions:
            by_priority.setdefault(transition.priority, []).append(self.compiled.transitions[transition.id])
        named = self.compiled.joins_of_transition
        return tuple(
            Tier(priority, tuple(tier), joined=bool(node.joins) or any(t.id in named for t in tier))
            for priority, tier in sorted(by_priority.items())
        )

    def _reads_last_error(self, transition: Transition) -> bool:
        condition = self.compiled.transitions[transition.id].condition
        return condition is not None and condition.reads_last_error


def _group_names(workflow: WorkflowDef) -> dict[str, str]:
    """Say which node or transition each name that a `sibling_group` may have means, by id; nodes go first."""
    names: dict[str, str] = {}
    for transition in workflow.transitions:
        names |= {name: transition.id for name in (transition.id, transition.ref) if name}
    for node in workflow.nodes:
        names |= {node.id: node.id, node.ref: node.id}
    return names


def _by_ids(workflow: WorkflowDef, groups: dict[str, str]) -> WorkflowDraft:
    """Give the graph as drafts in which every name is an id, to see which item variables enclose each node."""
    transitions: list[TransitionDraft] = []
    for ordinal, transition in enumerate(workflow.transitions):
        changed: dict[str, object] = {"ref": transition.id}
        if join := transition.synchronization:
            group = groups.get(join.sibling_group, join.sibling_group)
            changed["synchronization"] = join.model_copy(update={"sibling_group": group})
        body = transition.model_copy(update=changed)
        transitions.append(TransitionDraft(ordinal, body, transition.from_node_id, transition.to_node_id, ()))
    nodes = {node.id: NodeDraft(node.id, node, None, ()) for node in workflow.nodes}
    return WorkflowDraft(workflow.name, workflow, workflow.initial_node_id, nodes, tuple(transitions), (), ())
