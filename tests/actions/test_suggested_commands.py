"""Commands that messages tell an operator to type hold the words of authors, and the shell takes each as one word."""

import shlex

import pytest

from wonder.actions.mcp.permission import check_listed
from wonder.actions.models.addresses import BaseUrlNotAllowed
from wonder.actions.money.model_prices import PriceUnknown
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import SecretMissing, SecretOutOfScope, Tenancy
from wonder.definitions.records.resources import HttpServer, McpServer
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.definitions.secret_scopes import Destination, SecretScope
from wonder.language.values import parse_json

EVIL = "x'; touch owned; '"


def words_of(message: str, begin: str) -> list[str]:
    """The words of the command in a message, as a shell reads them; an operator would be one of them as well."""
    lexer = shlex.shlex(message[message.index(begin) :], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def test_res_6_the_command_that_lists_a_server_runs_nothing_else() -> None:
    connection = HttpServer(transport="http", url="https://tools.example")
    server = McpServer(id="S", project_id="P", name=EVIL, connection=connection, created_at="", updated_at="")
    settings = WorkspaceSettings(allowed_mcp_servers=["it's"])
    with pytest.raises(ActionFailed) as caught:
        check_listed(server, Tenancy("W", settings, "P", ProjectSettings()))
    *words, listed = words_of(caught.value.message, "wonder workspace")
    assert words == ["wonder", "workspace", "set", "allowed_mcp_servers"]
    assert parse_json(listed) == ["it's", EVIL]


def test_res_6_only_names_of_servers_are_listed_so_that_no_name_passes_for_an_id() -> None:
    connection = HttpServer(transport="http", url="https://tools.example")
    server = McpServer(id="S", project_id="P", name="tools", connection=connection, created_at="", updated_at="")
    with pytest.raises(ActionFailed, match="'tools'"):
        check_listed(server, Tenancy("W", WorkspaceSettings(allowed_mcp_servers=["S"]), "P", ProjectSettings()))
    check_listed(server, Tenancy("W", WorkspaceSettings(allowed_mcp_servers=["tools"]), "P", ProjectSettings()))


def test_res_6_the_command_that_allows_a_base_url_runs_nothing_else() -> None:
    message = BaseUrlNotAllowed("https://host/'$(touch${IFS}owned)'", [], "the model").message
    *words, listed = words_of(message, "wonder workspace")
    assert words == ["wonder", "workspace", "set", "allowed_model_base_urls"]
    assert parse_json(listed) == ["https://host:443/'$(touch${IFS}owned)'"]


def test_res_6_the_command_that_sets_a_price_runs_nothing_else() -> None:
    *words, listed = words_of(PriceUnknown("openai", EVIL, None, "the model").message, "wonder workspace")
    assert words == ["wonder", "workspace", "set", "model_prices"]
    prices = parse_json(listed)
    assert isinstance(prices, list)
    assert isinstance(prices[0], dict)
    assert prices[0]["model_id"] == EVIL


def test_inv_8_the_commands_about_a_secret_run_nothing_else() -> None:
    """A template may read {{secrets.[any name]}}, whether or not a secret can be called so."""
    to = Destination("server", EVIL)
    assert words_of(SecretMissing(EVIL).message, "wonder secrets") == ["wonder", "secrets", "set", EVIL]
    command = ["wonder", "secrets", "scope", EVIL]
    unscoped, outside = (SecretOutOfScope(EVIL, scope, to, None) for scope in (None, SecretScope(hosts=("a.b",))))
    assert words_of(unscoped.message, "wonder secrets") == [*command, "--for-server", EVIL]
    assert words_of(outside.message, "wonder secrets") == [*command, "--for-host", "a.b", "--for-server", EVIL]
