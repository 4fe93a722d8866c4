"""What has to be known before a phase workflow can be checked: the tools and the transforms that it names."""

from dataclasses import dataclass

from wonder.phases.known import ToolName
from wonder.phases.records import PhaseWorkflow


@dataclass(frozen=True, slots=True)
class Needs:
    """The tools whose schemas are needed, and the sources of the transforms whose types are."""

    tools: frozenset[ToolName]
    transforms: frozenset[str]


def needs(workflow: PhaseWorkflow) -> Needs:
    """Say what has to be asked for; each tool and each source once, however many steps use it."""
    steps = [step for phase in workflow.steps for step in phase]
    return Needs(
        frozenset(ToolName(step.tool.connection_id, step.tool.tool_name) for step in steps if step.tool),
        frozenset(step.transform for step in steps if step.transform is not None),
    )
