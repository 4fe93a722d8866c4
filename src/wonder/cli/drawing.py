"""Draws a workflow's graph in a terminal: each node once, with its ways out under it."""

from collections.abc import Iterator

from wonder.cli.output import color, visible
from wonder.operations.workflows import GraphTransition, WorkflowDetails


def draw_graph(workflow: WorkflowDetails) -> str:
    """Draw the nodes in the order in which a run can reach them."""
    lines: list[str] = []
    for node in workflow.graph:
        work = f"{node.task}: {' → '.join(node.kinds)}"
        called = f" “{visible(node.name)}”" if node.name else ""
        lines.append(f"{color('bold', '●')} {color('bold', node.node)}{called}  {color('dim', work)}")
        for i, transition in enumerate(node.transitions):
            corner = "└" if i == len(node.transitions) - 1 else "├"
            lines.append(f"  {corner}─▶ {transition.to}{_says(transition)}")
        if not node.transitions:
            lines.append(f"  {color('dim', '■ ends here')}")
    return "\n".join([*lines, *_triggers(workflow)])


def _triggers(workflow: WorkflowDetails) -> Iterator[str]:
    """Say which workflows start when a run has completed (PHS-6)."""
    for trigger in workflow.triggers:
        each = f"  for each item of {trigger['forEach']}" if trigger["forEach"] else ""
        target = color("bold", visible(trigger["workflowId"]))
        yield f"{color('bold', '↳')} triggers {target}{color('dim', visible(each))}"


def _says(transition: GraphTransition) -> str:
    parts: list[str] = []
    if transition.priority:
        parts.append(f"priority {transition.priority}")
    if transition.condition is not None:
        parts.append(f"if {transition.condition}")
    if each := transition.foreach:
        parts.append(f"for each {each['item_var']} of {each['collection']}")
    if transition.spawn_count is not None:
        parts.append(f"{transition.spawn_count} times")
    if join := transition.join:
        parts.append(f"joins {join.strategy} of {join.sibling_group}")
        if merge := join.merge:
            parts.append(f"{merge['strategy']} {merge['source']} into {merge['target']}")
    if loop := transition.loop:
        most = f"{loop['max_iterations']} times" if loop["max_iterations"] else f"{loop['timeout_ms']:,} ms"
        parts.append(f"at most {most}")
    return f"  {color('dim', visible(', '.join(parts)))}" if parts else ""
