"""Draws a workflow's graph in a terminal: each node once, with its ways out under it."""

from collections import deque
from collections.abc import Iterator

from wonder.cli.output import color, visible
from wonder.definitions.records.graph import ExpressionCondition, Node, Transition
from wonder.language.values import encode_json
from wonder.storage.written import Written


def draw_graph(written: Written) -> str:
    """Draw the nodes in the order in which a run can reach them."""
    workflow = written.definition
    refs = {node.id: node.ref for node in workflow.nodes}
    leaving: dict[str, list[Transition]] = {}
    for transition in workflow.transitions:
        leaving.setdefault(transition.from_node_id, []).append(transition)
    nodes = {node.id: node for node in workflow.nodes}
    lines: list[str] = []
    for node_id in _reached_in_order(workflow.initial_node_id, leaving):
        node = nodes[node_id]
        lines.append(f"{color('bold', '●')} {color('bold', node.ref)}  {color('dim', _work(written, node))}")
        ways = sorted(leaving.get(node_id, []), key=lambda transition: transition.priority)
        for i, transition in enumerate(ways):
            corner = "└" if i == len(ways) - 1 else "├"
            lines.append(f"  {corner}─▶ {refs[transition.to_node_id]}{_says(transition)}")
        if not ways:
            lines.append(f"  {color('dim', '■ ends here')}")
    return "\n".join([*lines, *_triggers(written)])


def _triggers(written: Written) -> Iterator[str]:
    """Say which workflows start when a run has completed (PHS-6)."""
    for trigger in written.form.get("triggers") or written.form["workflow"].get("triggers") or ():
        each = f"  for each item of {trigger['forEach']}" if trigger.get("forEach") else ""
        target = color("bold", visible(trigger["workflowId"]))
        yield f"{color('bold', '↳')} triggers {target}{color('dim', visible(each))}"


def _reached_in_order(start: str, leaving: dict[str, list[Transition]]) -> list[str]:
    order, todo = {start: None}, deque([start])
    while todo:
        for transition in leaving.get(todo.popleft(), []):
            if transition.to_node_id not in order:
                order[transition.to_node_id] = None
                todo.append(transition.to_node_id)
    return list(order)


def _work(written: Written, node: Node) -> str:
    task = written.tasks[node.task_id, node.task_version]
    kinds = [written.actions[step.action_id, step.action_version].kind for step in task.steps]
    return f"{task.name}@{task.version}: {' → '.join(kinds)}"


def _says(transition: Transition) -> str:
    parts: list[str] = []
    if transition.priority:
        parts.append(f"priority {transition.priority}")
    if isinstance(transition.condition, ExpressionCondition):
        parts.append(f"if {transition.condition.expr}")
    elif transition.condition:
        parts.append(f"if {encode_json(transition.condition.definition)}")
    if transition.foreach:
        parts.append(f"for each {transition.foreach.item_var} of {transition.foreach.collection}")
    if transition.spawn_count is not None:
        parts.append(f"{transition.spawn_count} times")
    if join := transition.synchronization:
        strategy = join.strategy if isinstance(join.strategy, str) else f"{join.strategy.m_of_n} of n"
        parts.append(f"joins {strategy} of {join.sibling_group}")
        if join.merge:
            parts.append(f"{join.merge.strategy} {join.merge.source} into {join.merge.target}")
    if transition.loop_config:
        limits = transition.loop_config
        most = f"{limits.max_iterations} times" if limits.max_iterations else f"{limits.timeout_ms:,} ms"
        parts.append(f"at most {most}")
    return f"  {color('dim', visible(', '.join(parts)))}" if parts else ""
