"""Lets definitions name the kinds of action that installed packages announce (ACT-8)."""

from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import Record


def announce_kinds() -> None:
    """Let definitions be checked against the kinds of all installed packages, which are looked for when needed."""
    KINDS.discover_by(_configurations)


def _configurations() -> dict[str, type[Record]]:
    # Imported here, because it takes long to load and most definitions name no kind but ours.
    from wonder.actions.registry import announced_kinds

    return {kind.kind: kind.configuration for kind in announced_kinds()}
