"""The nodes that a phase workflow becomes: how they are called, and how paths into their outputs are written."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from wonder.language.expressions import is_item_var
from wonder.phases.records import PhaseStep, PhaseWorkflow
from wonder.phases.refs import parse_ref

STEPS: Final = ("state", "steps")
"""Where the outputs of steps are kept, each under its step's name (PHS-1)."""
PHASE: Final = ("state", "phase")
"""Where a join puts the outputs of one phase together, before each gets its place."""

_WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_TO_ESCAPE = re.compile(r"['\\\x00-\x1f]")
_ESCAPES = {"\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


class NodeRefs:
    """The refs of the nodes that are no steps; none is another, or a step, whatever steps are called."""

    def __init__(self, workflow: PhaseWorkflow) -> None:
        self._taken = set(names_of(workflow))
        # Those of steps first: the node of a step is looked for by the name of the step.
        self._of_steps = {
            step.name: self._pair(f"{step.name}.each", f"{step.name}.all")
            for phase in workflow.steps
            for step in phase
            if step.for_each is not None
        }
        self._of_phases = {
            index: self._pair(f"phase-{index}", f"phase-{index}.all")
            for index, phase in enumerate(workflow.steps)
            if len(phase) > 1
        }

    def phase(self, index: int) -> tuple[str, str]:
        """Name the nodes that begin and join a phase of several steps."""
        return self._of_phases[index]

    def step(self, step: PhaseStep) -> tuple[str, str]:
        """Name the first and the last node of a step; without forEach, both are the step itself."""
        return self._of_steps.get(step.name, (step.name, step.name))

    def call(self, step: PhaseStep) -> str:
        """Name the one step of a task: with the name of its node, it must not be that of another node."""
        ref = "call"
        while f"{step.name}.{ref}" in self._taken:
            ref += "~"
        return ref

    def _pair(self, first: str, last: str) -> tuple[str, str]:
        return self._free(first), self._free(last)

    def _free(self, wanted: str) -> str:
        while wanted in self._taken:
            wanted += "~"
        self._taken.add(wanted)
        return wanted


def names_of(workflow: PhaseWorkflow) -> list[str]:
    """Give the names of all steps."""
    return [step.name for phase in workflow.steps for step in phase]


def item_var(step: PhaseStep) -> str:
    """Name the item of a forEach step as the graph form can: not every name is one there."""
    return step.as_ if is_item_var(step.as_) else "item"


def place_of(text: str, steps: Collection[str], step: PhaseStep | None = None) -> tuple[str | int, ...]:
    """Give the path of the context that a ref reads, in a step or, without one, in a trigger's place."""
    ref = parse_ref(text, steps, step.as_ if step and step.for_each is not None else None)
    match ref.root:
        case "step":
            return (*STEPS, ref.step, *ref.path)
        case "item":
            return (item_var(step) if step else "item", *ref.path)
        case "index":
            return ("_branch", "item_index")
        case root:
            return (root, *ref.path)


def dotted(path: Sequence[str | int]) -> str:
    """Write a path as targets, collections and expressions have it: `state.steps."a-b"[0]`."""
    shown = ""
    for segment in path:
        if isinstance(segment, int):
            shown += f"[{segment}]"
        else:
            name = segment if _WORD.fullmatch(segment) else '"' + segment.replace('"', '""') + '"'
            shown += f".{name}" if shown else name
    return shown


def query(path: Sequence[str | int]) -> str:
    """Write a path as mappings have it: `$.state.steps['a-b'][0]`."""
    shown = "$"
    for segment in path:
        if isinstance(segment, int):
            shown += f"[{segment}]"
        elif _WORD.fullmatch(segment):
            shown += f".{segment}"
        else:
            shown += f"['{_TO_ESCAPE.sub(_escaped, segment)}']"
    return shown


def trigger_ref(text: str, steps: Collection[str]) -> str:
    """Write the ref of a trigger so that it can be read without knowing the names of the steps."""
    ref = parse_ref(text, steps)
    root = (ref.step, "output") if ref.root == "step" else (ref.root,)
    return "@" + dotted((*root, *ref.path))


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], f"\\{found[0]}")
