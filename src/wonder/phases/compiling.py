"""The phase form as a graph: a bundle in the file form, which is stored and run like any other (PHS-1)."""

from collections.abc import Collection
from math import ceil
from typing import Any, TypeAlias

from wonder.language.expressions import ROOTS
from wonder.language.mappings import LITERAL
from wonder.language.refs import is_ref, refs_in
from wonder.language.schemas import Schema
from wonder.language.values import JsonValue
from wonder.phases.checking import Checked
from wonder.phases.node_refs import PHASE, STEPS, NodeRefs, dotted, item_var, names_of, place_of, query, trigger_ref
from wonder.phases.records import PhaseStep, PhaseWorkflow
from wonder.phases.refs import plain_text, plain_value

Written: TypeAlias = dict[str, Any]


def compile_phases(workflow: PhaseWorkflow, checked: Checked) -> Written:
    """Give the bundle of a workflow that was found to be sound; the refs of its nodes are the names of its steps."""
    assert not checked.errors, "only a workflow without errors can be compiled"
    graph = _Graph(workflow, checked)
    graph.build()
    written: Written = {
        "name": workflow.name,
        "description": workflow.description,
        "input_schema": checked.input_schema,
        "context_schema": _context_schema(workflow),
        "output_schema": checked.output_schema,
        "initial_node": graph.initial,
        "nodes": graph.nodes,
        "transitions": graph.transitions,
    }
    steps = names_of(workflow)
    if workflow.triggers:
        written["triggers"] = [
            _trigger(trigger.model_dump(by_alias=True, exclude_unset=True), steps) for trigger in workflow.triggers
        ]
    bundle: Written = {"workflow": written}
    if workflow.mcp_servers:
        dumped = workflow.model_dump(mode="json", by_alias=True, exclude_unset=True, include={"mcp_servers"})
        bundle |= dumped
    return bundle


class _Graph:
    def __init__(self, workflow: PhaseWorkflow, checked: Checked) -> None:
        self.workflow, self.checked = workflow, checked
        self.steps = names_of(workflow)
        self.refs = NodeRefs(workflow)
        self.nodes: Written = {}
        self.transitions: list[Written] = []
        self.initial = ""

    def build(self) -> None:
        before: str | None = None
        for index, phase in enumerate(self.workflow.steps):
            single = phase[0] if len(phase) == 1 else None
            first, end = self.refs.step(single) if single else self.refs.phase(index)
            if before is None:
                self.initial = first
            else:
                self.transitions.append({"from": before, "to": first})
            last = index == len(self.workflow.steps) - 1
            if single:
                self._step(single, last=last)
            else:
                self._phase(phase, first, end, last=last)
            before = end

    def _phase(self, phase: list[PhaseStep], begin: str, end: str, *, last: bool) -> None:
        """Fan out to the steps of a phase, and join them: their outputs come together, then each gets its place."""
        self.nodes[begin] = _pure([])
        ends = [self.refs.step(step) for step in phase]
        self.transitions += [{"from": begin, "to": first} for first, _ in ends]
        for step in phase:
            self._step(step)
        # A merge replaces its target, and what steps before have given must stay.
        merged = ("output",) if last else PHASE
        source = dotted(("_branch", "output", STEPS[-1]))
        join = _join(begin, source, dotted(merged), "merge_object")
        self.transitions += [{"from": exit, "to": end, "synchronization": join} for _, exit in ends]
        updates: list[tuple[str, JsonValue]] = [
            (dotted((*STEPS, step.name)), dotted((*merged, step.name))) for step in phase
        ]
        self.nodes[end] = _pure(updates if last else [*updates, (dotted(PHASE), None)])

    def _step(self, step: PhaseStep, *, last: bool = False) -> None:
        """Add the nodes of a step; the output of one that is the whole last phase is the workflow's."""
        kept = dotted((*STEPS, step.name))
        node = self._node(step)
        node["output_mapping"] = {kept: "$", "output": "$"} if last and step.for_each is None else {kept: "$"}
        if step.for_each is None:
            self.nodes[step.name] = node
            return
        begin, end = self.refs.step(step)
        collection = dotted(place_of(step.for_each, self.steps))
        self.nodes |= {
            begin: _limit(step, collection),
            step.name: node,
            end: _pure([("output", kept)] if last else []),
        }
        foreach: Written = {"collection": collection, "item_var": item_var(step)}
        if step.max_parallel is not None:
            foreach["max_parallel"] = step.max_parallel
        join = _join(begin, dotted(("_branch", "output", STEPS[-1], step.name)), kept, "append")
        self.transitions += [
            {"from": begin, "to": step.name, "foreach": foreach},
            {"from": step.name, "to": end, "synchronization": join},
        ]

    def _node(self, step: PhaseStep) -> Written:
        if step.sleep:
            return self._sleep(step)
        schemas = self.checked.schemas[step.name]
        if step.tool:
            implementation = {"mcp_server_id": step.tool.connection_id, "tool_name": step.tool.tool_name}
            action: Written = {"kind": "mcp_tool", "implementation": implementation}
        else:
            action = {"kind": "transform", "implementation": {"source": step.transform}}
        action |= _said(requires=schemas.input, produces=schemas.each)
        if step.timeout_ms is not None:
            action["execution"] = {"timeout_ms": step.timeout_ms}
        mapping = _template(step.input or {}, self.steps, step)
        if step.retry is None:
            return {"action": action, "input_mapping": mapping}
        ref = self.refs.call(step)
        once: Written = {"ref": ref, "action": action, "input_mapping": "$.input", "output_mapping": {"output": "$"}}
        retry = {
            "max_attempts": step.retry.max_attempts,
            "backoff": "none",
            "initial_delay_ms": step.retry.backoff_ms,
        }
        return {"task": {"steps": [once | {"on_failure": "retry"}], "retry": retry}, "input_mapping": mapping}

    def _sleep(self, step: PhaseStep) -> Written:
        assert step.sleep
        if step.sleep.ms is not None:
            return {"action": {"kind": "sleep", "implementation": {"ms": ceil(step.sleep.ms)}}}
        until = step.sleep.until or ""
        if not is_ref(until):
            return {"action": {"kind": "sleep", "implementation": {"until": plain_text(until)}}}
        # A moment in the input goes before what the definition says; without one the step fails, and does not go on.
        requires = {"type": "object", "required": ["until"], "properties": {"until": {"type": "string"}}}
        action = {"kind": "sleep", "implementation": {"ms": 0}, "requires": requires}
        return {"action": action, "input_mapping": _template({"until": until}, self.steps, step)}


def _pure(updates: list[tuple[str, JsonValue]]) -> Written:
    written = [{"path": path, "expr": expr} for path, expr in updates]
    return {"action": {"kind": "update_context", "implementation": {"updates": written}}}


def _join(group: str, source: str, target: str, strategy: str) -> Written:
    merge = {"source": source, "target": target, "strategy": strategy}
    return {"strategy": "all", "sibling_group": group, "merge": merge}


def _limit(step: PhaseStep, collection: str) -> Written:
    """Refuse more items than maxIterations; what is no list at all is told by the foreach behind it."""
    limit = step.max_iterations
    # Wrapped, so that a text is no JSON of its own, which might be malformed.
    expr = f"json_array_length(json_array({collection}), '$[0]') <= {limit}"
    message = f"forEach of '{step.name}' has more items than its maxIterations of {limit}; raise maxIterations"
    return {"action": {"kind": "assert", "implementation": {"expr": expr, "message": message}}}


def _template(value: JsonValue, steps: Collection[str], step: PhaseStep) -> JsonValue:
    """Write an input as a mapping: refs become queries, and what a mapping would read otherwise stands as it is."""
    if isinstance(value, str):
        if is_ref(value):
            return query(place_of(value, steps, step))
        plain = plain_text(value)
        # A text that spells a place of the context would be warned of, and it is the author's own here.
        is_read = plain.startswith("$") or plain.partition(".")[0] in ROOTS | {item_var(step)}
        return {LITERAL: plain} if is_read else plain
    if isinstance(value, dict):
        if LITERAL in value and next(refs_in(value), None) is None:
            return {LITERAL: plain_value(value)}
        return {key: _template(part, steps, step) for key, part in value.items()}
    return [_template(part, steps, step) for part in value] if isinstance(value, list) else value


def _trigger(trigger: Written, steps: Collection[str]) -> Written:
    written = {**trigger, "inputs": _refs_written(trigger["inputs"], steps)}
    if trigger.get("forEach") is not None:
        written["forEach"] = trigger_ref(trigger["forEach"], steps)
    return written


def _refs_written(value: JsonValue, steps: Collection[str]) -> JsonValue:
    if isinstance(value, str):
        return trigger_ref(value, steps) if is_ref(value) else value
    if isinstance(value, dict):
        return {key: _refs_written(part, steps) for key, part in value.items()}
    return [_refs_written(part, steps) for part in value] if isinstance(value, list) else value


def _context_schema(workflow: PhaseWorkflow) -> Schema:
    """Give each output a column of its own, so that a step writes one; its schema was checked when it was given."""
    outputs: dict[str, JsonValue] = {name: {} for name in names_of(workflow)}
    properties: dict[str, JsonValue] = {STEPS[-1]: {"type": "object", "properties": outputs}}
    if any(len(phase) > 1 for phase in workflow.steps):
        properties[PHASE[-1]] = {}
    return {"type": "object", "properties": properties}


def _said(**schemas: Schema) -> dict[str, Schema]:
    return {name: schema for name, schema in schemas.items() if schema is not True and schema != {}}
