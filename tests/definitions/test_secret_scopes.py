"""Scopes of secrets: which hosts, servers, programs, kinds and workflows they name, however these are written."""

from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle
from wonder.definitions.catalog import Allowed, Catalog
from wonder.definitions.loading import load_value
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.definitions.secret_scopes import BadScope, Destination, SecretScope, host_of_url, make_scope, read_host


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("api.example.com", "api.example.com"),
        ("API.Example.COM.", "api.example.com"),
        ("api.example.com:443", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("*.example.com", "*.example.com"),
        ("*.example.com:8443", "*.example.com:8443"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[::1]:8080", "[::1]:8080"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost:11434", "localhost:11434"),
    ],
)
def test_a_host_has_one_form_however_it_is_written(written: str, read: str) -> None:
    assert read_host(written) == read


@pytest.mark.parametrize(
    "written",
    [
        *("", "*", "*.com", "*.", "a.*.com", "https://api.example.com", "api.example.com/v1", "u@api.example.com"),
        *(
            "bücher.example",
            "api.example.com:0",
            "api.example.com:70000",
            "a b.example",
            "::1",
            "a..b",
            "*.3.4",
            "api:x",
        ),
    ],
)
def test_what_is_no_host_is_refused(written: str) -> None:
    with pytest.raises(BadScope):
        read_host(written)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.example.com/x", True),
        ("https://API.EXAMPLE.COM./x", True),
        ("https://api.example.com:443/x", True),
        ("https://user:pass@api.example.com/x", True),
        ("http://api.example.com/x", False),  # anybody on the way could read it
        ("https://api.example.com:8443/x", False),
        ("https://api.example.com@evil.example/x", False),
        ("https://api.example.com.evil.example/x", False),
        ("https://evil.example/api.example.com", False),
        ("https://evil.example?api.example.com", False),
        ("https://evil.example#@api.example.com", False),
        ("https://sub.api.example.com/x", False),
        ("https://xapi.example.com/x", False),
    ],
)
def test_inv_8_a_host_is_where_an_address_leads_and_not_what_it_looks_like(url: str, host: bool) -> None:
    assert SecretScope(hosts=("api.example.com",)).allows(host_of_url(url)) is host


@pytest.mark.parametrize(
    ("host", "url", "allowed"),
    [
        ("*.example.com", "https://a.example.com", True),
        ("*.example.com", "https://a.b.example.com", True),
        ("*.example.com", "https://example.com", False),
        ("*.example.com", "https://evilexample.com", False),
        ("*.example.com", "https://a.example.com:8443", False),
        ("*.example.com:8443", "https://a.example.com:8443", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("127.0.0.1:8080", "http://127.1:8080", False),
        ("127.0.0.1:8080", "http://localhost:8080", False),
        ("[::1]:8080", "http://[0::1]:8080", True),
        ("[::1]:8080", "http://[::ffff:127.0.0.1]:8080", False),
    ],
)
def test_wildcards_ports_and_addresses_mean_exactly_what_they_say(host: str, url: str, allowed: bool) -> None:
    assert SecretScope(hosts=(read_host(host),)).allows(host_of_url(url)) is allowed


def test_a_scope_names_a_destination_and_workflows_of_one_project() -> None:
    with pytest.raises(BadScope, match="--for-host"):
        make_scope([], [], [], [], ["w"], "P")
    with pytest.raises(BadScope, match="absolute path"):
        make_scope([], [], ["rsync"], [], [], "P")
    with pytest.raises(BadScope, match="absolute path"):
        make_scope([], [], ["/usr/bin/../../tmp/x"], [], [], "P")
    scope = make_scope(["b.example", "a.example"], ["s"], ["/bin/x"], ["k"], ["w"], "P")
    assert scope.options() == (
        "--for-host a.example --for-host b.example --for-server s --for-program /bin/x --for-kind k --for-workflow w"
    )
    assert scope.allows_workflow("P", "w")
    assert not scope.allows_workflow("Q", "w"), "the same name in another project gains nothing"
    assert not scope.allows_workflow(None, "w"), "nor does one of a library"
    for sort, name in (("server", "s"), ("program", "/bin/x"), ("kind", "k")):
        assert scope.allows(Destination(sort, name))  # type: ignore[arg-type]
        assert not scope.allows(Destination(sort, "other"))  # type: ignore[arg-type]


def test_a_stored_scope_that_somebody_has_spoiled_allows_nothing() -> None:
    assert not SecretScope(hosts=("", "*")).allows(Destination("host", "evil.example"))


TOKEN = "{{secrets.TOKEN}}"


def asks(url: str) -> dict[str, Any]:
    """A node that sends the secret."""
    implementation = {"method": "GET", "url_template": url, "headers": {"authorization": TOKEN}}
    return {"action": {"kind": "http_request", "implementation": implementation}}


def runs(command: Any) -> dict[str, Any]:
    """A node that gives the secret to a program."""
    implementation = {"command": command, "shell": isinstance(command, str), "env": {"T": TOKEN}}
    return {"action": {"kind": "shell_command", "implementation": implementation}}


def serves(**server: Any) -> dict[str, Any]:
    """A file with an MCP server that is given the secret."""
    return {**bundle("w", {"a": update()}), "mcp_servers": {"tickets": server}}


def models(**config: Any) -> dict[str, Any]:
    """A file with a model that is asked with the secret."""
    model = {"provider": "anthropic", "model_id": "x", "execution_config": {"api_key": TOKEN, **config}}
    return {**bundle("w", {"a": update()}), "models": {"m": model}}


SCOPE = make_scope(["api.example.com"], ["known"], ["/usr/bin/rsync"], [], ["w"], "P")
HTTP = {"transport": "http", "headers": {"authorization": TOKEN}}
STDIO = {"transport": "stdio", "command": ["x"], "env": {"T": TOKEN}}


@pytest.mark.parametrize(
    ("definition", "path"),
    [
        (bundle("w", {"a": asks("https://evil.example/x")}), "headers"),
        (bundle("w", {"a": asks("https://api.example.com@evil.example/x?{{q}}")}), "headers"),
        (bundle("w", {"a": asks("http://api.example.com/{{q}}")}), "headers"),
        (bundle("other", {"a": asks("https://api.example.com/x")}), "headers"),
        (bundle("w", {"a": runs("echo $T")}), "env"),
        (bundle("w", {"a": runs(["/usr/bin/curl", "{{x}}"])}), "env"),
        (serves(**HTTP, url="https://evil.example/mcp"), "headers"),
        (serves(**STDIO), "env"),
        (models(), "execution_config"),
        (models(base_url="https://evil.example/v1"), "execution_config"),
    ],
)
def test_inv_8_a_secret_out_of_its_scope_is_refused_before_anything_is_stored(definition: Any, path: str) -> None:
    (fault,) = faults(definition, SCOPE)
    assert (fault.code, fault.severity) == ("secret_out_of_scope", "error")
    assert path in fault.path
    assert "wonder secrets scope TOKEN --for-host api.example.com" in (fault.hint or "")


@pytest.mark.parametrize(
    "definition",
    [
        bundle("w", {"a": asks("https://api.example.com/{{q}}")}),
        bundle("w", {"a": asks("https://{{host}}/x")}),  # known when it runs
        bundle("w", {"a": runs(["/usr/bin/rsync", "{{x}}"])}),
        bundle("w", {"a": runs(["rsync"])}),  # found when it runs
        serves(**HTTP, url="https://api.example.com/mcp"),
        models(base_url="https://api.example.com/v1"),
        models(base_url="https://{{secrets.HOST}}/v1"),
    ],
)
def test_inv_8_a_secret_in_its_scope_is_taken_and_what_is_filled_in_is_left_to_the_run(definition: Any) -> None:
    assert faults(definition, SCOPE) == []


def test_a_secret_without_a_scope_is_a_warning_with_the_command_that_gives_it_one() -> None:
    (fault,) = faults(bundle("w", {"a": asks("https://api.example.com/x"), "b": asks("https://b.example")}), None)
    assert (fault.code, fault.severity) == ("secret_unscoped", "warning")
    assert "wonder secrets scope TOKEN --for-host api.example.com" in (fault.hint or "")


def faults(definition: Any, scope: SecretScope | None) -> list[Any]:
    """Check a file of a project whose secret has this scope."""
    allowed = Allowed(WorkspaceSettings(), ProjectSettings(), "P", {"TOKEN": scope})
    codes = ("secret_out_of_scope", "secret_unscoped")
    return [one for one in load_value(definition).check(Catalog(allowed=allowed)) if one.code in codes]
