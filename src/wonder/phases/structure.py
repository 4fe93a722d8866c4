"""What a step must be before anything flows through it: names, kinds, modifiers (`invalid_step`, PHS-4)."""

from collections.abc import Iterator

from wonder.phases.errors import PhaseError
from wonder.phases.records import PhaseStep, PhaseWorkflow
from wonder.phases.refs import RESERVED


def structure_errors(workflow: PhaseWorkflow) -> Iterator[PhaseError]:
    """Give all errors of steps by themselves, in the order written."""
    if not workflow.steps:
        yield PhaseError("invalid_step", "", "steps", message="The workflow has no steps; add a phase", path=("steps",))
    first_places: dict[str, int] = {}
    for index, phase in enumerate(workflow.steps):
        if not phase:
            message = f"Phase {index} has no steps; add one, or leave the phase out"
            yield PhaseError("invalid_step", "", f"steps[{index}]", message=message, path=("steps", index))
        for position, step in enumerate(phase):
            where = ("steps", index, position)
            for field, message in _faults(step, workflow, first_places):
                yield PhaseError("invalid_step", step.name, field, message=message, path=(*where, *field.split(".")))
            first_places.setdefault(step.name, index)


def kinds_of(step: PhaseStep) -> list[str]:
    """Name what a step does: exactly one of these is right."""
    return [kind for kind in ("tool", "transform", "sleep") if getattr(step, kind) is not None]


def _faults(step: PhaseStep, workflow: PhaseWorkflow, first_places: dict[str, int]) -> Iterator[tuple[str, str]]:
    if step.name in RESERVED:
        yield "name", f"A step can't be called '{step.name}': '@{step.name}' has a meaning already; choose another name"
    if step.name in first_places:
        message = f"Phase {first_places[step.name]} has a step '{step.name}' already; give each step its own name"
        yield "name", message
    yield from _kind_faults(step)
    yield from _retry_faults(step)
    yield from _item_faults(step, workflow)


def _kind_faults(step: PhaseStep) -> Iterator[tuple[str, str]]:
    kinds = kinds_of(step)
    if not kinds:
        yield "name", f"Step '{step.name}' does nothing; give it one of tool, transform and sleep"
    elif len(kinds) > 1:
        yield kinds[1], f"Step '{step.name}' has {' and '.join(kinds)}; keep one of them"
    if step.sleep and (step.sleep.ms is None) == (step.sleep.until is None):
        yield "sleep", "A sleep has exactly one of ms and until"
    if step.output_schema is not None and "sleep" in kinds:
        yield "outputSchema", "A sleep gives an empty object; leave outputSchema out"
    if step.timeout_ms is not None and "sleep" in kinds:
        yield "timeoutMs", "A sleep takes as long as it says; leave timeoutMs out"


def _retry_faults(step: PhaseStep) -> Iterator[tuple[str, str]]:
    if step.retry and step.tool is None:
        kind = " and ".join(kinds_of(step)) or "it"
        why = (
            "a transform gives the same result each time" if step.transform is not None else f"{kind} can't be retried"
        )
        yield "retry", f"Only a tool step can have retry: {why}; leave it out"


def _item_faults(step: PhaseStep, workflow: PhaseWorkflow) -> Iterator[tuple[str, str]]:
    # Without forEach the others mean nothing, and are there all the same where defaults were filled in.
    if step.for_each is None:
        return
    if step.as_ in RESERVED - {"item"}:
        yield "as", f"An item can't be called '{step.as_}': '@{step.as_}' has a meaning already; choose another name"
    elif any(other.name == step.as_ for phase in workflow.steps for other in phase):
        yield "as", f"'{step.as_}' is the name of a step, so '@{step.as_}' could mean both; choose another name"
    elif any(sign in step.as_ for sign in '.["@') or not step.as_.isprintable():
        yield "as", f"'@{step.as_}' could not be read as a ref; use letters, digits, '_' and '-'"
