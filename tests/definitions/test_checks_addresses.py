"""Addresses and headers of models and MCP servers: what can't be reached is refused before it is stored."""

from typing import Any

import pytest

from support.definitions import codes_in, faults_in
from wonder.definitions.catalog import Allowed, Catalog
from wonder.definitions.loading import load_value
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings

BAD = [
    "http://[::1",
    "http://localhost:abc/v1",
    "http://h:70000/",
    "http://h/\x07",
    "http://",
    "http://a b/",
    "http://axn--/",
    "http://[::1]64/",  # for a client the port 64, for urllib the usual one
    "http://api.example.com[::1]/",
    "http://[v1.a]/",
]


def local(**config: Any) -> dict[str, Any]:
    """A file with a model on this machine."""
    config = {"base_url": "http://localhost:8080/v1", **config}
    return {"models": {"m": {"provider": "local", "model_id": "x", "execution_config": config}}}


def mcp(url: str = "http://[::1]:8080/mcp", **headers: str) -> dict[str, Any]:
    """A file with an MCP server."""
    return {"mcp_servers": {"s": {"transport": "http", "url": url, "headers": headers}}}


def test_res_6_a_model_that_the_operator_does_not_allow_or_price_is_named_before_it_is_used() -> None:
    """Warnings: settings may change before it is used."""

    def codes(workspace: dict[str, Any], **config: Any) -> list[str]:
        allowed = Allowed(WorkspaceSettings.model_validate(workspace), ProjectSettings())
        faults = load_value(local(**config)).check(Catalog(allowed=allowed))
        assert all(fault.severity == "warning" and fault.path[-1] == "base_url" for fault in faults)
        return [fault.code for fault in faults]

    budget = {"budget": {"max_monthly_spend_cents": 5}}
    price = {"provider": "local", "model_id": "x", "input_usd_per_million": 0, "output_usd_per_million": 0}
    listed = {"model_prices": [{**price, "base_url": "http://LOCALHOST:8080/v1/"}]}
    assert codes({}) == []
    assert codes({"allowed_model_base_urls": []}) == ["base_url_not_allowed"]
    assert codes({"allowed_model_base_urls": ["http://localhost:8080/v1"]}) == []
    assert codes(budget) == ["price_unknown"]
    assert codes({**budget, **listed}) == []
    assert codes({**budget, **listed}, base_url="http://localhost:8081/v1") == ["price_unknown"]


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
