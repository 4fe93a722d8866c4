"""Vector indexes: filled on demand."""

from wonder.app.application import Application
from wonder.definitions.records.resources import VectorIndex
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.storage.own_resources import find_own_resource
from wonder.storage.resource_errors import NotFound


class FillIndex(Input, frozen=True):
    """Which vector index."""

    name: str
    """Its name or its id."""


class FilledIndex(Output, frozen=True):
    """A vector index that was filled."""

    id: str
    name: str
    done: bool
    """Whether all is embedded; false if another process runs the engine, which has begun with it."""


@operation("vectors.index", role="operator", changes=True, needs_engine=True)
async def fill_index(application: Application, given: FillIndex) -> FilledIndex:
    """Embed the artifacts that a vector index is missing, also where `auto_index` is false."""
    index = await find_own_resource(application.store, VectorIndex, application.home.project_id, given.name)
    if index is None:
        raise NotFound("vector index", given.name)
    return FilledIndex(id=index.id, name=index.name, done=await application.index_vectors(index))
