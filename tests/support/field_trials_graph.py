"""Trials of the fields of workflows, nodes, tasks, steps, actions and transitions."""

from typing import Any

from support.definitions import update
from support.field_trials import Trial, shown, trial
from support.systems import bundle, calls, line, waits

OBJECT: Any = {"type": "object"}
GIVES_ALL: Any = {"output_mapping": {"output.given": "$"}}
ECHO: Any = calls("echo", input_mapping={"x": "$.input.x"}, **GIVES_ALL)
ONE: Any = bundle("w", {"a": ECHO}, input_schema=OBJECT)
TWO: Any = bundle("w", {"a": ECHO, "b": calls("echo")}, line("a", "b"), input_schema=OBJECT)
ASKS: Any = bundle("w", {"a": waits("human_input", {"prompt": "well?"})})
CHILD: Any = {"initial_node": "only", "nodes": {"only": update(**{"output.x": "1"})}}
_OTHER_CHILD: Any = {"initial_node": "only", "nodes": {"only": update(**{"output.x": "2"})}}
BOUND: Any = {
    "libraries": {"lib": {"workflows": {"one": CHILD, "two": _OTHER_CHILD}}},
    "workflow": {"name": "w", "workflow_def_id": "lib/one"},
}


def with_task(function: str = "echo", **task: Any) -> Any:
    """Make a workflow of one node, whose task has one step."""
    action = {"kind": "python", "implementation": {"function": f"tests:{function}"}}
    step = {"ref": "s", "action": action, "input_mapping": "$.input", "output_mapping": {"output": "$"}}
    node = {"task": "t", "input_mapping": {"x": "$.input.x"}, **GIVES_ALL}
    return {**bundle("w", {"a": node}, input_schema=OBJECT), "tasks": {"t": {"steps": [step], **task}}}


TASK: Any = with_task()
BROKEN: Any = with_task("broken")
STEP = "tasks.t.steps.0"
ACT = f"{STEP}.action"
POLICY: Any = {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 1}
NOT_RETRIED: Any = {**BROKEN, "tasks": {"t": {**BROKEN["tasks"]["t"], "retry": POLICY}}}


def fan_out(**synchronization: Any) -> Any:
    """Make a fan-out of two branches and its join."""
    nodes = {
        "s": update(),
        "a": update(**{"state.n": "1"}),
        "b": calls("echo"),
        "j": update(**{"output.all": "state.all"}),
    }
    sync = {"strategy": "all", "sibling_group": "s", **synchronization}
    joins = [{"from": one, "to": "j", "synchronization": sync} for one in ("a", "b")]
    fields = {"context_schema": {"type": "object", "properties": {"n": {}, "all": {}, "other": {}}}}
    return bundle("w", nodes, [{"from": "s", "to": "a"}, {"from": "s", "to": "b"}, *joins], **fields)


MERGE: Any = {"source": "_branch.output.n", "target": "state.all", "strategy": "append"}
EACH: Any = bundle(
    "w",
    {"s": update(), "a": calls("slow", input_mapping={"x": "$.item"})},
    [{"from": "s", "to": "a", "foreach": {"collection": "input.items"}}],
    input_schema={"type": "object", "properties": {"items": {"type": "array"}, "others": {"type": "array"}}},
)
LOOP: Any = bundle(
    "w",
    {"a": update(**{"state.n": "coalesce(state.n, 0) + 1"}), "nap": waits("sleep", {"ms": 2}), "b": update()},
    [
        {"from": "a", "to": "nap", "condition": "state.n < 30", "loop_config": {"max_iterations": 40}},
        {"from": "nap", "to": "a"},
        {"from": "a", "to": "b", "priority": 1},
    ],
    context_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
)
SLOW_BRANCH = {"workflow.nodes.b": waits("sleep", {"ms": 60})}
NEVER = {"workflow.nodes.b": waits("human_input", {"prompt": "?"})}
TRIGGERED: Any = {
    **bundle("w", {"a": update(**{"output.items": "input.items"})}, input_schema=OBJECT, output_schema=OBJECT),
    "workflows": {
        "next": {
            **bundle("next", {"a": calls("echo", input_mapping={"x": "$.input"})}, input_schema=OBJECT)["workflow"]
        },
        "fails": {**bundle("fails", {"a": calls("refused")}, input_schema=OBJECT)["workflow"]},
        "asks": {**bundle("asks", {"a": waits("human_input", {"prompt": "?"})}, input_schema=OBJECT)["workflow"]},
    },
    "triggers": [{"workflowId": "next", "inputs": {"x": 1}}],
}
PASSES: Any = {"input": {"x": 7}}
ITEMS: Any = {"input": {"items": [1, 2]}}


def branch_to(**transition: Any) -> Any:
    """Make a workflow with a condition on one of two ways."""
    nodes = {"a": update(**{"state.n": "1"}), "b": calls("echo", input_mapping={"way": "b"}), "c": calls("echo")}
    ways = [{"from": "a", "to": "b", **transition}, {"from": "a", "to": "c", "priority": 5, "condition": "state.n > 0"}]
    return bundle("w", nodes, ways, context_schema={"type": "object", "properties": {"n": {"type": "integer"}}})


def compared(value: int) -> Any:
    """Make a structured condition."""
    left, right = {"type": "field", "path": "state.n"}, {"type": "literal", "value": value}
    return {"type": "comparison", "left": left, "operator": "==", "right": right}


OF_FILE = [
    trial("BundleFile.workflow", ONE, "workflow.nodes.a.input_mapping", {"x": 1}, {"x": 2}),
    trial(
        "BundleFile.workflows",
        {**bundle("w", {"a": waits("workflow_call", {"workflow_def_id": "child"})})},
        "workflows",
        {"child": CHILD},
    ),
    trial("BundleFile.tasks", bundle("w", {"a": {"task": "t"}}), "tasks", TASK["tasks"]),
    trial("BundleFile.actions", bundle("w", {"a": {"action": "act"}}), "actions", {"act": ECHO["action"]}),
    trial(
        "BundleFile.libraries", bundle("w", {"a": {"task": "lib/t"}}), "libraries", {"lib": {"tasks": TASK["tasks"]}}
    ),
    trial("BundleFile.triggers", TRIGGERED, "triggers", TRIGGERED["triggers"]),
    trial(
        "BundleFile.schedules",
        ONE,
        "schedules",
        {"s": {"cron": "0 * * * *"}},
        back_ms=3 * 3_600_000,
        start=False,
        linger=True,
    ),
    trial(
        "LibraryFile.workflows",
        bundle("w", {"a": waits("workflow_call", {"workflow_def_id": "lib/child"})}),
        "libraries.lib.workflows",
        {"child": CHILD},
    ),
    shown(
        "LibraryFile.description",
        {**ONE, "libraries": {"lib": {"tasks": TASK["tasks"]}}},
        "libraries.lib.description",
        *("libraries", "show", "lib"),
    ),
    trial("LibraryFile.tasks", bundle("w", {"a": {"task": "lib/t"}}), "libraries.lib.tasks", TASK["tasks"]),
    trial(
        "LibraryFile.actions",
        bundle("w", {"a": {"action": "lib/act"}}),
        "libraries.lib.actions",
        {"act": ECHO["action"]},
    ),
]
OF_WORKFLOWS = [
    shown("WorkflowFile.description", ONE, "workflow.description", "workflows", "show", "w"),
    shown("WorkflowFile.tags", ONE, "workflow.tags", "workflows", "show", "w", told=["blue"]),
    trial("WorkflowFile.name", ONE, "workflow.name", "w", ""),
    trial(
        "WorkflowFile.input_schema",
        TWO,
        "workflow.input_schema",
        {"type": "object", "properties": {"x": {"default": 5}}},
        OBJECT,
    ),
    trial(
        "WorkflowFile.output_schema",
        TWO,
        "workflow.output_schema",
        {"type": "object", "required": ["y"], "properties": {"given": {}, "y": {}}},
    ),
    trial(
        "WorkflowFile.context_schema",
        bundle("w", {"a": update(**{"output.n": "state.n"})}),
        "workflow.context_schema",
        {"type": "object", "properties": {"n": {"default": 4}}},
    ),
    trial("WorkflowFile.timeout_ms", ASKS, "workflow.timeout_ms", 30),
    trial("WorkflowFile.on_timeout", ASKS, "workflow.on_timeout", "fail", with_={"workflow.timeout_ms": 30}),
    trial("WorkflowFile.initial_node", TWO, "workflow.initial_node", "b", "a"),
    trial("WorkflowFile.nodes", TWO, "workflow.nodes.b", update(), calls("refused")),
    trial(
        "WorkflowFile.transitions",
        TWO,
        "workflow.transitions",
        [{"from": "a", "to": "b", "spawn_count": 2}],
        line("a", "b"),
    ),
    trial("WorkflowFile.triggers", {**TRIGGERED, "triggers": []}, "workflow.triggers", TRIGGERED["triggers"]),
    shown("BoundWorkflowFile.description", BOUND, "workflow.description", "workflows", "show", "w"),
    trial("BoundWorkflowFile.name", BOUND, "workflow.name", "w", ""),
    trial("BoundWorkflowFile.workflow_def_id", BOUND, "workflow.workflow_def_id", "lib/two", "lib/one"),
    trial("BoundWorkflowFile.pinned_version", BOUND, "workflow.pinned_version", 7),
    shown("NodeFile.name", ONE, "workflow.nodes.a.name", "workflows", "show", "w"),
    trial("NodeFile.input_mapping", ONE, "workflow.nodes.a.input_mapping", {"y": 1}, {}),
    trial("NodeFile.output_mapping", ONE, "workflow.nodes.a.output_mapping", {"output.other": "$"}),
    trial(
        "NodeFile.task",
        TASK,
        "workflow.nodes.a.task",
        {"steps": [{"ref": "s", "action": calls("refused")["action"]}]},
        "t",
    ),
    trial(
        "NodeFile.task_version",
        bundle("w", {"a": {"task": "t", **GIVES_ALL}}),
        "workflow.nodes.a.task_version",
        1,
        2,
        before=[with_task(), with_task("many")],
    ),
    trial("NodeFile.action", ONE, "workflow.nodes.a.action", calls("refused")["action"], ECHO["action"]),
]
OF_TASKS = [
    shown("TaskFile.description", TASK, "tasks.t.description", "tasks", "show", "t"),
    shown("TaskFile.tags", TASK, "tasks.t.tags", "tasks", "show", "t", told=["blue"]),
    trial("TaskFile.input_schema", TASK, "tasks.t.input_schema", {"required": ["x"]}),
    trial("TaskFile.output_schema", TASK, "tasks.t.output_schema", {"required": ["x"]}),
    trial("TaskFile.retry", BROKEN, "tasks.t.retry", POLICY, with_={f"{STEP}.on_failure": "retry"}),
    trial("TaskFile.timeout_ms", with_task("slow"), "tasks.t.timeout_ms", 20),
    trial("TaskFile.queue", TASK, "tasks.t.queue", "gpu"),
    trial(
        "TaskFile.steps",
        TASK,
        "tasks.t.steps",
        [TASK["tasks"]["t"]["steps"][0], {"ref": "z", "action": calls("refused")["action"]}],
        TASK["tasks"]["t"]["steps"],
    ),
    trial("Retry.max_attempts", NOT_RETRIED, "tasks.t.retry.max_attempts", 3, 2, with_={f"{STEP}.on_failure": "retry"}),
    trial(
        "Retry.backoff",
        NOT_RETRIED,
        "tasks.t.retry.backoff",
        "linear",
        "none",
        with_={f"{STEP}.on_failure": "retry", "tasks.t.retry.max_attempts": 4, "tasks.t.retry.initial_delay_ms": 200},
    ),
    trial(
        "Retry.initial_delay_ms",
        NOT_RETRIED,
        "tasks.t.retry.initial_delay_ms",
        500,
        1,
        with_={f"{STEP}.on_failure": "retry"},
    ),
    trial(
        "Retry.max_delay_ms",
        NOT_RETRIED,
        "tasks.t.retry.max_delay_ms",
        1,
        with_={f"{STEP}.on_failure": "retry", "tasks.t.retry.initial_delay_ms": 500},
    ),
    trial("StepFile.ref", with_task("refused"), f"{STEP}.ref", "other", "s", patience=0.1),
    trial("StepFile.input_mapping", TASK, f"{STEP}.input_mapping", {"y": 2}, {}),
    trial("StepFile.output_mapping", TASK, f"{STEP}.output_mapping", {"output.deep": "$"}, {"output": "$"}),
    trial("StepFile.on_failure", with_task("refused"), f"{STEP}.on_failure", "continue"),
    trial("StepFile.condition", TASK, f"{STEP}.condition", {"if": "1 = 2"}),
    trial("StepFile.action", TASK, ACT, calls("refused")["action"], ECHO["action"]),
    trial(
        "StepFile.action_version",
        {**TASK, "tasks": {"t": {"steps": [{"ref": "s", "action": "act"}]}}},
        f"{STEP}.action_version",
        1,
        2,
        before=[{**ONE, "actions": {"act": calls(name)["action"]}} for name in ("echo", "refused")],
    ),
    trial("StepCondition.if_", TASK, f"{STEP}.condition.if", "1 = 1", "1 = 2"),
    trial("StepCondition.then", TASK, f"{STEP}.condition.then", "fail", with_={f"{STEP}.condition.if": "1 = 1"}),
    trial("StepCondition.else_", TASK, f"{STEP}.condition.else", "fail", with_={f"{STEP}.condition.if": "1 = 2"}),
]
OF_ACTIONS = [
    trial("ActionFile.kind", TASK, f"{ACT}.kind", "python", "sleep"),
    trial(
        "ActionFile.implementation",
        TASK,
        f"{ACT}.implementation",
        {"function": "tests:refused"},
        {"function": "tests:echo"},
    ),
    shown(
        "ActionFile.description",
        {**ONE, "actions": {"act": ECHO["action"]}},
        "actions.act.description",
        "actions",
        "show",
        "act",
    ),
    shown(
        "ActionFile.tags",
        {**ONE, "actions": {"act": ECHO["action"]}},
        "actions.act.tags",
        "actions",
        "show",
        "act",
        told=["blue"],
    ),
    trial("ActionFile.requires", TASK, f"{ACT}.requires", {"required": ["x"]}),
    trial("ActionFile.produces", TASK, f"{ACT}.produces", {"type": "boolean"}),
    trial("ActionFile.execution", with_task("slow"), f"{ACT}.execution", {"timeout_ms": 20}),
    trial("ActionFile.idempotency", TASK, f"{ACT}.idempotency", {"key_template": "one"}, inputs=[{}, {}]),
    trial("Execution.timeout_ms", with_task("slow"), f"{ACT}.execution.timeout_ms", 20),
    trial("Execution.retry_policy", BROKEN, f"{ACT}.execution.retry_policy", POLICY),
    trial(
        "RetryPolicy.max_attempts",
        BROKEN,
        f"{ACT}.execution.retry_policy.max_attempts",
        3,
        2,
        with_={f"{ACT}.execution.retry_policy": POLICY},
    ),
    trial(
        "RetryPolicy.backoff",
        BROKEN,
        f"{ACT}.execution.retry_policy.backoff",
        "linear",
        "none",
        with_={f"{ACT}.execution.retry_policy": {**POLICY, "max_attempts": 4, "initial_delay_ms": 200}},
    ),
    trial(
        "RetryPolicy.initial_delay_ms",
        BROKEN,
        f"{ACT}.execution.retry_policy.initial_delay_ms",
        500,
        1,
        with_={f"{ACT}.execution.retry_policy": POLICY},
    ),
    trial(
        "RetryPolicy.max_delay_ms",
        BROKEN,
        f"{ACT}.execution.retry_policy.max_delay_ms",
        1,
        with_={f"{ACT}.execution.retry_policy": {**POLICY, "initial_delay_ms": 500}},
    ),
    trial(
        "RetryPolicy.retryable_errors",
        BROKEN,
        f"{ACT}.execution.retry_policy.retryable_errors",
        ["OTHER"],
        with_={f"{ACT}.execution.retry_policy": POLICY},
    ),
    trial("Idempotency.key_template", TASK, f"{ACT}.idempotency.key_template", "one", "{{run_id}}", inputs=[{}, {}]),
    trial(
        "Idempotency.ttl_seconds",
        ONE,
        "workflow.nodes.a.action.idempotency.ttl_seconds",
        1,
        with_={
            "workflow.nodes.a.action.idempotency.key_template": "one",
            "workflow.nodes.nap": waits("sleep", {"ms": 1_100}),
            "workflow.nodes.again": {"action": "w.a"},
            "workflow.transitions": line("a", "nap", "again"),
        },
        before=[ONE],
        patience=1.5,
    ),
]
OF_GRAPHS: list[Trial] = [*OF_FILE, *OF_WORKFLOWS, *OF_TASKS, *OF_ACTIONS]
