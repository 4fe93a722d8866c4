"""Addresses and headers of models and MCP servers: what can't be reached is refused before it is stored."""

from typing import Any

import pytest

from support.definitions import codes_in, faults_in

BAD = [
    "http://[::1",
    "http://localhost:abc/v1",
    "http://h:70000/",
    "http://h/\x07",
    "http://",
    "http://a b/",
    "http://axn--/",
]


def local(**config: Any) -> dict[str, Any]:
    """A file with a model on this machine."""
    config = {"base_url": "http://localhost:8080/v1", **config}
    return {"models": {"m": {"provider": "local", "model_id": "x", "execution_config": config}}}


def mcp(url: str = "http://[::1]:8080/mcp", **headers: str) -> dict[str, Any]:
    """A file with an MCP server."""
    return {"mcp_servers": {"s": {"transport": "http", "url": url, "headers": headers}}}


@pytest.mark.parametrize("url", BAD)
def test_an_address_that_leads_nowhere_is_refused_with_where_and_how(url: str) -> None:
    [fault] = faults_in(local(base_url=url))
    assert (fault.code, fault.path[-2:]) == ("bad_url", ("execution_config", "base_url"))
    assert fault.hint
    # Of an MCP server's, some are told by the form of the field.
    assert faults_in(mcp(url))[0].path[:3] == ("mcp_servers", "s", "url")


@pytest.mark.parametrize("headers", [{"two words": "x"}, {"x": "é"}, {"x": "a\nb"}, {"": "x"}])
def test_a_header_that_cant_be_sent_is_refused(headers: dict[str, str]) -> None:
    for given in (local(headers=headers), mcp(**headers)):
        assert faults_in(given)


def test_what_can_be_reached_is_taken() -> None:
    headers = {"x-a": "Bearer {{secrets.TOKEN}}"}
    for given in (
        local(headers=headers),
        local(base_url="{{secrets.URL}}"),
        mcp(**headers),
        mcp("https://h"),
        mcp("http://bücher.example/"),
        mcp("http://xn--bcher-kva.example"),
    ):
        assert not codes_in(given)


def test_a_template_of_an_mcp_server_that_cant_be_read_is_refused() -> None:
    given = {"mcp_servers": {"s": {"transport": "stdio", "command": ["x"], "env": {"T": "{{#if}}"}}}}
    [fault] = faults_in(given)
    assert fault.path == ("mcp_servers", "s", "env", "T")
