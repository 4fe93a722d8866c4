"""What a tool gave, as the output of an action (ACT-10)."""

from typing import TYPE_CHECKING, Any, Final

from wonder.actions.copied_values import take_value
from wonder.actions.mcp.losses import shown
from wonder.actions.protocol import ActionFailed
from wonder.language.values import BadValue, JsonValue, parse_json

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_SMALL_TEXT: Final = 256 * 1024
_SMALL_VALUES: Final = 10_000


def output_of(result: "CallToolResult", server: str, tool: str) -> JsonValue:
    """Return the structured content; else one text that is a JSON object or list; else `{text, content}`."""
    if result.is_error:
        text = _text(result)
        message = f"the tool {tool!r} of the MCP server {server!r} failed: {shown(text) or '(it gave no reason)'}"
        raise ActionFailed("MCP_TOOL_ERROR", message, details={"server": server, "tool": tool, "text": shown(text)})
    try:
        return _value(result)
    except BadValue as error:
        message = f"the tool {tool!r} of the MCP server {server!r} gave what can't be kept: {error}"
        raise ActionFailed("BAD_RESULT", message, details={"server": server, "tool": tool}) from error


def is_large(result: "CallToolResult") -> bool:
    """Say whether a result takes so long to read that others should have their turn meanwhile."""
    if sum(len(block.text) for block in result.content if block.type == "text") > _SMALL_TEXT:
        return True
    left, waiting = _SMALL_VALUES, [result.structured_content or {}]
    while waiting and left > 0:
        value: Any = waiting.pop()
        if isinstance(value, dict | list):
            left -= len(value) + 1
            waiting += value.values() if isinstance(value, dict) else value
    return left <= 0


def _value(result: "CallToolResult") -> JsonValue:
    if result.structured_content is not None:
        return take_value(result.structured_content)
    content = result.content
    if len(content) == 1 and content[0].type == "text" and content[0].text.lstrip()[:1] in ("{", "["):
        try:
            value = parse_json(content[0].text)
        except BadValue:
            pass  # a text that only begins like JSON
        else:
            if isinstance(value, dict | list):
                return value
    blocks: list[Any] = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in content]
    return take_value({"text": _text(result), "content": blocks})


def _text(result: "CallToolResult") -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
