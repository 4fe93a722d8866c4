"""Draws the graph of a run as SVG: `python docs/pictures/draw_run.py RUN > docs/pictures/run.svg`.

It asks the `wonder` program, so it must be started where that finds the database. docs/pictures/run.svg shows the run
with the key `april` of docs/tutorial.md.
"""

import json
import subprocess
import sys
from html import escape
from typing import Any

WIDTH, HEIGHT = 132, 46
ACROSS, DOWN = 54, 16
MARGIN = 16
COLORS = {"completed": ("#dcfce7", "#15803d"), "failed": ("#fee2e2", "#b91c1c")}
WAITS = ("#fef9c3", "#a16207")
NOT_RUN = ("#f8fafc", "#94a3b8")

Box = tuple[float, float]


def ask(*words: str) -> Any:
    """Ask the program for JSON."""
    return json.loads(subprocess.run(["wonder", *words, "--json"], check=True, capture_output=True, text=True).stdout)  # noqa: S603, S607


def columns_of(workflow: dict[str, Any]) -> dict[str, int]:
    """The column of each node: one further right than all from which it is reached for the first time."""
    column = {workflow["initial_node"]: 0}
    for _ in workflow["nodes"]:
        for transition in workflow["transitions"]:
            start, end = transition["from"], transition["to"]
            if start in column and column.get(end, 0) <= column[start] < len(workflow["nodes"]):
                column[end] = column[start] + 1
    return column


def boxes_of(workflow: dict[str, Any], tokens: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any] | None, Box]]:
    """A box for each token, and for each node that was not run, with its left upper corner."""
    column = columns_of(workflow)
    stacks: list[list[tuple[str, dict[str, Any] | None]]] = [[] for _ in range(max(column.values()) + 1)]
    for node in sorted(column, key=lambda node: not any(token["node"] == node for token in tokens)):
        ran = [token for token in tokens if token["node"] == node]
        stacks[column[node]].extend((node, token) for token in (ran or [None]))
    tallest = max(len(stack) for stack in stacks)
    boxes = []
    for i, stack in enumerate(stacks):
        top = MARGIN + (tallest - len(stack)) * (HEIGHT + DOWN) / 2
        for j, (node, token) in enumerate(stack):
            boxes.append((node, token, (MARGIN + i * (WIDTH + ACROSS), top + j * (HEIGHT + DOWN))))
    return boxes


def draw_box(node: str, token: dict[str, Any] | None, box: Box) -> str:
    """Draw a node with what became of it."""
    fill, line = NOT_RUN if token is None else COLORS.get(token["status"], WAITS)
    says = "not taken" if token is None else f"{token['status']}, {token['took_ms'] / 1000:.2f} s"
    dashes = ' stroke-dasharray="4 3"' if token is None else ""
    x, y = box
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="{line}"{dashes}/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 20:g}" class="node" fill="{line}">{escape(node)}</text>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 36:g}" class="what" fill="{line}">{escape(says)}</text>'
    )


def draw_edge(start: Box, end: Box, taken: bool) -> str:
    """Draw a transition from the right side of one box to the left side of another; around what lies between them."""
    x1, y1, x2, y2 = start[0] + WIDTH, start[1] + HEIGHT / 2, end[0] - 3, end[1] + HEIGHT / 2
    middle = (x1 + x2) / 2
    path = f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
    if x2 - x1 > ACROSS + WIDTH / 2:
        x1, y1, x2, y2 = start[0] + WIDTH * 0.7, start[1], end[0] + WIDTH * 0.3, end[1] - 3
        path = f"M{x1:g} {y1:g}C{x1 + 30:g} {y1 - 44:g} {x2 - 30:g} {y2 - 44:g} {x2:g} {y2:g}"
    color, dashes = ("#334155", "") if taken else ("#94a3b8", ' stroke-dasharray="4 3"')
    return f'<path d="{path}" fill="none" stroke="{color}"{dashes} marker-end="url(#arrow)"/>'


def draw(workflow: dict[str, Any], tokens: list[dict[str, Any]], taken: set[tuple[str, str]]) -> str:
    """Draw a run: all its tokens, and grey and dashed the ways that it did not take."""
    boxes = boxes_of(workflow, tokens)
    lines = [
        draw_edge(start, end, (one["from"], one["to"]) in taken)
        for one in workflow["transitions"]
        for node, _, start in boxes
        for other, _, end in boxes
        if (node, other) == (one["from"], one["to"])
    ]
    lines += [draw_box(*box) for box in boxes]
    wide = max(x for _, _, (x, _) in boxes) + WIDTH + MARGIN
    high = max(y for _, _, (_, y) in boxes) + HEIGHT + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>'
        "<style>text{font-family:ui-sans-serif,system-ui,sans-serif;text-anchor:middle}.node{font-size:14px;font-weight:600}"
        ".what{font-size:11px}</style>"
        f'<rect width="{wide:g}" height="{high:g}" rx="10" fill="#ffffff"/>'
    )
    return "\n".join([head, *lines, "</svg>\n"])


def main(run_id: str) -> None:
    """Print the drawing of a run."""
    run = ask("runs", "show", run_id)
    workflow = ask("workflows", "show", f"{run['workflow']}@{run['workflow_version']}")["definition"]["workflow"]
    taken = {
        (event["node"], candidate["to"])
        for event in ask("runs", "events", run_id)
        if event["event_type"] == "transitions_evaluated"
        for tier in event["metadata"]["tiers"]
        for candidate in tier["candidates"]
        if candidate["matched"]
    }
    sys.stdout.write(draw(workflow, run["tokens"], taken))


if __name__ == "__main__":
    main(sys.argv[1])
