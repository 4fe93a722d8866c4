"""Checks of workflows that have no definition of their own: that there is the definition which they run (RES-1)."""

from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.drafts import BoundWorkflowDraft
from wonder.definitions.findings import Findings


def check_bound_workflow(bound: BoundWorkflowDraft, lookup: Lookup, findings: Findings) -> None:
    """Note a fault if what a workflow is to run is not there, or is itself a workflow without a definition."""
    definition = bound.definition
    if definition is None:
        return
    if not lookup.is_bound(definition):
        lookup.check(definition, findings)
        return
    message = f"'{definition}' has no definition of its own: it is a workflow that runs another one"
    hint = "name the definition which that one runs"
    if definition.name == bound.name:
        message, hint = "it would run itself", f"write LIBRARY/{bound.name}, or another name"
    findings.error("bad_reference", definition.path, message, hint)
