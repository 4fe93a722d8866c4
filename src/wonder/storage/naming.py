"""Which fields of actions name what is stored in a table, as the kinds of action declare it."""

from typing import Final

from wonder.definitions.kinds import KINDS
from wonder.definitions.references import ResourceKind
from wonder.errors import WonderError

_NAMED: Final[dict[str, ResourceKind]] = {
    "prompt_specs": "prompt",
    "artifact_types": "artifact_type",
    "model_profiles": "model",
    "mcp_servers": "mcp_server",
    "vector_indexes": "vector_index",
}


def fields_that_name(table: str) -> list[tuple[str, str]]:
    """Give the kinds of action that name what is in a table, each with its field that does; none for other tables."""
    try:
        kinds = [*KINDS.own.values(), *KINDS.announced.values()]
    except WonderError:
        # A package can't be loaded. Actions of its kinds can't run either, so what they name is not needed.
        kinds = [*KINDS.own.values()]
    wanted = _NAMED.get(table)
    return [(kind.kind, field) for kind in kinds for field, named in kind.references.items() if named == wanted]
