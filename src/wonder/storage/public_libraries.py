"""What may be deployed into public libraries: nothing that names what not everybody sees (RES-1, INV-7)."""

from wonder.definitions.catalog import Catalog
from wonder.definitions.drafts import Bundle
from wonder.errors import WonderError
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_library


class NotPublic(WonderError):
    """A file for public libraries holds or names something that belongs to a project or a workspace."""

    code = "NOT_PUBLIC"


async def check_public(reader: Reader, bundle: Bundle, catalog: Catalog) -> None:
    """Raise NotPublic unless a bundle has only libraries, and names nothing outside of it but what is public."""
    own = bundle.definitions
    held = [own.workflows, own.tasks, own.actions, own.prompts, own.artifact_types]
    held += [bundle.models, bundle.mcp_servers, bundle.vector_indexes, bundle.schedules]
    if any(held) or not bundle.libraries:
        raise NotPublic(
            "a file for public libraries has `libraries` and nothing beside them, because all else belongs to a "
            "project; move that to a file of its own, which is deployed without --public"
        )
    for (kind, name), found in catalog.found.items():
        for one in found:
            library_id = getattr(one.record, "library_id", None)
            if library_id is None or (await load_library(reader, library_id)).workspace_id is not None:
                raise NotPublic(
                    f"the {kind.replace('_', ' ')} {name!r} belongs to {one.owner}, which not everybody sees; "
                    "a public library names only what it holds itself and what is public"
                )
