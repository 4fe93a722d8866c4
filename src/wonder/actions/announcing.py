"""Lets definitions name the kinds of action that installed packages announce (ACT-8)."""

from wonder.definitions.kinds import KINDS, Kind


def announce_kinds() -> None:
    """Let definitions be checked against the kinds of all installed packages, which are looked for when needed."""
    KINDS.discover_by(_of_packages)


def _of_packages() -> dict[str, Kind]:
    # Imported here, because it takes long to load and most definitions name built-in kinds only.
    from wonder.actions.registry import announced_kinds

    return {kind.kind: kind for kind in announced_kinds()}
