"""What a tool gives as the output of its action (ACT-10), and what a definition's secrets become."""

from collections.abc import Collection
from typing import Any

import pytest
from mcp_types import CallToolResult

from support.tasks import NothingStored
from wonder.actions.mcp.connections import StdioConnection, connect
from wonder.actions.mcp.results import output_of
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources, SecretMissing, Tenancy
from wonder.definitions.records.resources import McpServer
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"content": [text("x")], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [text('{"a": [1]}')]}, {"a": [1]}),
        ({"content": [text(" [1, 2]\n")]}, [1, 2]),
        ({"content": [text("7")]}, {"text": "7", "content": [text("7")]}),
        ({"content": [text('"x"')]}, {"text": '"x"', "content": [text('"x"')]}),
        ({"content": [text("{broken")]}, {"text": "{broken", "content": [text("{broken")]}),
        ({"content": [text('{"a":1,"a":2}')]}, {"text": '{"a":1,"a":2}', "content": [text('{"a":1,"a":2}')]}),
        ({"content": [text("{}"), text("b")]}, {"text": "{}\nb", "content": [text("{}"), text("b")]}),
        ({"content": [IMAGE]}, {"text": "", "content": [IMAGE]}),
        ({"content": []}, {"text": "", "content": []}),
    ],
)
def test_the_output_is_what_the_tool_gave(result: dict[str, Any], output: Any) -> None:
    """ACT-10: structured content; else one text that is a JSON object or list; else `{text, content}`."""
    assert output_of(CallToolResult.model_validate(result), "server", "tool") == output


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"content": [text("no such row")], "isError": True}, "MCP_TOOL_ERROR"),
        ({"content": [], "isError": True}, "MCP_TOOL_ERROR"),
        ({"content": [], "structuredContent": {"a": float("inf")}}, "BAD_RESULT"),
        ({"content": [text("a\x00b")]}, "BAD_RESULT"),
        ({"content": [text("a\ud800b")]}, "BAD_RESULT"),
    ],
)
def test_an_error_and_what_can_not_be_kept_fail(result: dict[str, Any], code: str) -> None:
    """ACT-2: an error result is a business error."""
    with pytest.raises(ActionFailed) as caught:
        output_of(CallToolResult.model_construct(**_constructed(result)), "server", "tool")
    assert (caught.value.code, caught.value.retryable) == (code, False)
    assert "'tool' of the MCP server 'server'" in caught.value.message


def _constructed(result: dict[str, Any]) -> dict[str, Any]:
    from mcp_types import TextContent

    content = [TextContent.model_construct(type="text", text=block["text"]) for block in result["content"]]
    structured = result.get("structuredContent")
    return {"content": content, "structured_content": structured, "is_error": result.get("isError", False)}


class Known:
    """Secrets of a test."""

    def __init__(self, **values: str) -> None:
        self._values = values

    async def values(
        self, project_id: str, names: Collection[str], where: Any, run_id: str | None = None
    ) -> dict[str, str]:
        """Give those that are known."""
        for name in names:
            if name not in self._values:
                raise SecretMissing(name)
        return {name: self._values[name] for name in names}


def server(transport: str = "stdio", **fields: str) -> McpServer:
    """A definition."""
    stamps = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    connection: dict[str, Any] = {"transport": "stdio", "command": ["x"], "env": fields}
    if transport == "http":
        connection = {"transport": "http", "url": "http://localhost/mcp", "headers": fields}
    return McpServer.model_validate({"id": "s", "project_id": "p", "name": "s", "connection": connection, **stamps})


TENANCY = Tenancy("w", WorkspaceSettings(), "p", ProjectSettings())


class Approving(Resources):
    """Resources of a local run whose servers somebody has approved."""

    async def has_approved(self, server: McpServer, folder: str) -> bool:
        """Say yes."""
        return True


def resources(**secrets: str) -> Resources:
    """Resources with these secrets."""
    return Approving(NothingStored(), lambda: 0, Known(**secrets), local=True)


async def test_secrets_are_put_into_the_environment_and_another_value_is_another_server() -> None:
    """The key of a session differs, but tells nothing of the value."""
    defined = server(TOKEN="a {{secrets.T}} b", PLAIN="{x}")
    first = await connect(defined, TENANCY, resources(T="one-secret"))
    again = await connect(defined, TENANCY, resources(T="one-secret"))
    other = await connect(defined, TENANCY, resources(T="two-secret"))
    assert isinstance(first.to, StdioConnection)
    assert (first.to.env["TOKEN"], first.to.env["PLAIN"]) == ("a one-secret b", "{x}")
    assert first.key == again.key != other.key
    assert "secret" not in first.key


async def test_inv_8_a_secret_is_not_handed_to_another_host_of_the_same_address() -> None:
    """Which of the hosts at one address is meant stands in the header Host."""
    with pytest.raises(ActionFailed, match="Host can't be given"):
        await connect(server("http", hOST="other.example", token="{{secrets.T}}"), TENANCY, resources(T="one-secret"))
    await connect(server("http", hOST="other.example"), TENANCY, resources())


async def test_a_secret_that_is_not_stored_is_told_by_its_name() -> None:
    """Nothing is started without it."""
    with pytest.raises(SecretMissing, match="'T'"):
        await connect(server(TOKEN="{{secrets.T}}"), TENANCY, resources())


@pytest.mark.parametrize(
    ("transport", "value"),
    [("stdio", "secret\x00"), ("http", "secret\r\nx: y"), ("http", "secret é"), ("http", "secret\n")],
)
async def test_a_value_that_would_break_out_of_its_field_is_refused_without_being_shown(
    transport: str, value: str
) -> None:
    """INV-8: the error names the field only."""
    with pytest.raises(ActionFailed) as caught:
        await connect(server(transport, token="{{secrets.T}}"), TENANCY, resources(T=value))
    assert caught.value.code == "MCP_BAD_DEFINITION"
    assert value not in caught.value.message
    assert "'token'" in caught.value.message
