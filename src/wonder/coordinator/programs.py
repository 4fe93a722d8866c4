"""Programs: definition versions made ready to run, each compiled once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable

from msgspec import Struct

from wonder.context.plan import ContextPlan
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.compiling import compile_workflow
from wonder.storage.context_tables import load_context_plan
from wonder.storage.definitions import load_definition, load_triggers
from wonder.storage.store import Reader

Key = tuple[str, int]

# A program takes about as much memory as its definition file; runs under way keep theirs alive anyhow.
_KEPT = 1_000


class Program(Struct, frozen=True):
    """One definition version: its graph and its context tables."""

    definition: WorkflowDef
    workflow: CompiledWorkflow
    plan: ContextPlan
    loggable: frozenset[str]
    """The nodes that lead to one other task (coordinator/loggable.py)."""


class Programs:
    """Loads and keeps programs; those used longest ago are forgotten first."""

    def __init__(self, reader: Reader, note_actions: Callable[[Iterable[ActionDef]], None]) -> None:
        """Make it empty; `note_actions` gets the actions of each program that is loaded."""
        self._reader, self._note_actions = reader, note_actions
        self._programs: OrderedDict[Key, Program] = OrderedDict()
        self._loading: dict[Key, asyncio.Future[Program]] = {}

    async def get(self, workflow_def_id: str, version: int) -> Program:
        """Give the program of a definition version; raises NotFound."""
        key = (workflow_def_id, version)
        if program := self._programs.get(key):
            self._programs.move_to_end(key)
            return program
        if key not in self._loading:
            self._loading[key] = asyncio.ensure_future(self._load(key))
        try:
            return await asyncio.shield(self._loading[key])
        finally:
            self._loading.pop(key, None)

    async def _load(self, key: Key) -> Program:
        definition = await load_definition(self._reader, WorkflowDef, *key)
        tasks: dict[Key, TaskDef] = {}
        actions: dict[Key, ActionDef] = {}
        for node in definition.nodes:
            of_node = (node.task_id, node.task_version)
            if of_node not in tasks:
                tasks[of_node] = await load_definition(self._reader, TaskDef, *of_node)
        for step in [step for task in tasks.values() for step in task.steps]:
            of_step = (step.action_id, step.action_version)
            if of_step not in actions:
                actions[of_step] = await load_definition(self._reader, ActionDef, *of_step)
        plan = await load_context_plan(self._reader, definition)
        self._note_actions(actions.values())
        triggers = await load_triggers(self._reader, *key)
        workflow = compile_workflow(definition, tasks, actions, triggers)
        loggable = frozenset(node.id for node in workflow.nodes.values() if node.leads_to_one_task)
        program = Program(definition, workflow, plan, loggable)
        self._programs[key] = program
        while len(self._programs) > _KEPT:
            self._programs.popitem(last=False)
        return program
