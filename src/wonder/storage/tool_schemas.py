"""What MCP servers have said of their tools: asked for once, and kept by what a server is."""

from hashlib import sha256
from typing import Any

from wonder.definitions.records.resources import HttpServer, StdioServer
from wonder.language.values import canonical_json, encode_json, parse_json
from wonder.storage.store import Reader, Store, UtcNow
from wonder.storage.tables import MAX_STORED_BYTES

Tools = dict[str, dict[str, Any]]
"""What each tool of a server takes and gives, by its name: `{input, output, only_as_task}`; `output` may be null."""


def connection_hash(connection: StdioServer | HttpServer) -> str:
    """Tell servers apart by how they are reached, as it is written: secrets are still names there."""
    return sha256(canonical_json(connection.model_dump(by_alias=True)).encode()).hexdigest()


async def load_tool_schemas(reader: Reader, project_id: str, connection: StdioServer | HttpServer) -> Tools | None:
    """Load what a server said of its tools; None if it was never asked."""
    rows = await reader.fetch("tool_schemas", project_id, connection_hash(connection))
    if not rows:
        return None
    text = rows[0][0]
    assert isinstance(text, str)
    tools: Any = parse_json(text, max_bytes=MAX_STORED_BYTES)
    return tools  # type: ignore[no-any-return]  # as it was put


async def put_tool_schemas(
    store: Store, project_id: str, connection: StdioServer | HttpServer, tools: Tools, *, clock: UtcNow
) -> None:
    """Keep what a server says of its tools now."""
    row = (project_id, connection_hash(connection), encode_json(dict(tools)), clock())
    await store.commit([("put_tool_schemas", [row])])
