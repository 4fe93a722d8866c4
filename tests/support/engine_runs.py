"""Runs for engine tests: workflows out of a few words, and a player that brings facts and looks at what comes back."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from support.declared_events import assert_declared
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.compiling import compile_workflow
from wonder.engine.control import check_input
from wonder.engine.decide import decide
from wonder.engine.decisions import AbortTask, Decision, DispatchTask, RecordEvent
from wonder.engine.facts import Fact, RunStarted, TaskCompleted, TaskFailed, TimerFired, TurnContinued
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits
from wonder.engine.state import RunState, Token

_OWNED = {"project_id": "project", "library_id": None, "content_hash": "hash", "created_at": "", "updated_at": ""}
_SCOPED = ("update_context", "assert", "emit_metric")


def workflow(nodes: Mapping[str, Any], transitions: Iterable[Mapping[str, Any]], **fields: Any) -> CompiledWorkflow:
    """Compile a workflow; ids are refs, the first node is the initial one.

    A node is `{}` (a task for a worker), `{"kind": ..., **implementation}` for any other action, `{"updates": [(path,
    expr), ...]}` for a pure one; `input`, `output` are its mappings, `task` and `step` fields of those.
    """
    tasks: dict[tuple[str, int], TaskDef] = {}
    actions: dict[tuple[str, int], ActionDef] = {}
    records = []
    for ref, spec in nodes.items():
        spec = dict(spec)
        mappings = {"input_mapping": spec.pop("input", None), "output_mapping": spec.pop("output", None)}
        task, step = spec.pop("task", {}), spec.pop("step", {})
        if "updates" in spec:
            updates = [{"path": path, "expr": expr} for path, expr in spec["updates"]]
            spec = {"kind": "update_context", "updates": updates}
        kind = spec.pop("kind", "python")
        implementation = spec or {"function": "tests:noop"}
        if kind in _SCOPED:
            implementation = {"scope": "workflow", **implementation}
        actions[ref, 1] = ActionDef.model_validate(
            {"id": ref, "version": 1, "name": ref, "kind": kind, "implementation": implementation, **_OWNED}
        )
        one = {"id": ref, "ref": "action", "ordinal": 0, "action_id": ref, "action_version": 1}
        one |= {"input_mapping": "$.input", "output_mapping": {"output": "$"}, **step}
        tasks[ref, 1] = TaskDef.model_validate({"id": ref, "version": 1, "name": ref, "steps": [one], **_OWNED, **task})
        records.append({"id": ref, "ref": ref, "task_id": ref, "task_version": 1, **mappings})
    definition = {
        "id": "workflow",
        "version": 1,
        "name": "workflow",
        "initial_node_id": next(iter(nodes)),
        "nodes": records,
        "transitions": [_transition(number, spec) for number, spec in enumerate(transitions)],
        **_OWNED,
        **fields,
    }
    return compile_workflow(WorkflowDef.model_validate(definition), tasks, actions)


def _transition(number: int, spec: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in spec.items() if key not in ("from", "to", "if", "join")}
    if "if" in spec:
        fields["condition"] = {"type": "expression", "expr": spec["if"]}
    if "join" in spec:
        fields["synchronization"] = {"strategy": "all", **spec["join"]}
    name = spec.get("ref") or f"t{number}"
    return {"id": f"{name}-id", "from_node_id": spec["from"], "to_node_id": spec["to"], **fields}


def append(target: str, source: str = "_branch.output.x") -> dict[str, str]:
    """The merge that most tests use."""
    return {"source": source, "target": target, "strategy": "append"}


class Player:
    """One run, and all that came out of it so far."""

    def __init__(self, compiled: CompiledWorkflow, limits: Limits | None = None) -> None:
        self.compiled = compiled
        self.run = RunState("run", compiled, limits)
        self.now_ms = 1_000
        self._ids = count(1)
        self.decisions: list[Decision] = []
        self.last: list[Decision] = []

    def new_id(self) -> str:
        return f"id{next(self._ids):07}"

    def bring(self, fact: Fact) -> list[Decision]:
        """Bring one fact; later turns of a long one follow by themselves."""
        self.last = decide(self.run, fact, now_ms=self.now_ms, new_id=self.new_id)
        self.decisions += self.last
        assert_declared(self.last)
        return self.last

    def start(self, value: Any = None) -> "Player":
        filled, faults = check_input(self.compiled, {} if value is None else value)
        assert not faults
        self.bring(RunStarted(filled))
        return self

    def token(self, name: str) -> Token:
        """Find a live token by the ref of its node, or by `ref@path`."""
        found = self.tokens(name)
        assert len(found) == 1, f"{len(found)} tokens at {name}: {self.live()}"
        return found[0]

    def tokens(self, name: str) -> list[Token]:
        ref, _, path = name.partition("@")
        return [t for t in self.run.tokens.values() if t.node.ref == ref and (not path or t.path_id == path)]

    def live(self) -> list[str]:
        """All live tokens as `ref@path status`."""
        return [f"{t.node.ref}@{t.path_id} {t.status}" for t in self.run.tokens.values()]

    def complete(self, name: str, output: Any = None) -> list[Decision]:
        return self.bring(TaskCompleted(self.token(name).id, {} if output is None else output))

    def fail(self, name: str, code: str = "BROKEN") -> list[Decision]:
        return self.bring(TaskFailed(self.token(name).id, Failure(code, f"it is {code}", 1)))

    def fire(self, key_part: str, late_ms: int = 0) -> list[Decision]:
        """Let the timer fire whose key begins so, at its time."""
        (key,) = [key for key in self.run.timers if key.startswith(key_part)]
        self.now_ms = max(self.now_ms, self.run.timers[key] + late_ms)
        return self.bring(TimerFired(key))

    def go_on(self) -> None:
        self.bring(TurnContinued())

    def events(self, *types: str) -> list[RecordEvent]:
        found = [d for d in self.decisions if isinstance(d, RecordEvent)]
        return [event for event in found if not types or event.type in types]

    def of(self, kind: type) -> list[Any]:
        """All decisions of a kind."""
        return [d for d in self.decisions if type(d) is kind]

    def inputs(self, ref: str) -> list[Any]:
        """What the tasks of a node were given, in the order of dispatch."""
        return [d.input for d in self.of(DispatchTask) if d.node_id == ref]

    def ends(self) -> dict[str, str]:
        """How tokens ended: `ref@path` to the type of the event, without `token_`."""
        types = ("token_completed", "token_failed", "token_cancelled", "token_timed_out")
        return {f"{e.node_id}@{e.path_id}": e.type.removeprefix("token_") for e in self.events(*types)}

    def aborted(self) -> list[str]:
        return [d.token_id for d in self.of(AbortTask)]

    @property
    def error(self) -> str | None:
        return self.run.error.code if self.run.error else None
