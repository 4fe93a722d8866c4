"""Secrets in runs: each goes where its scope lets it, and nowhere else (INV-8)."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from support.http_peer import HttpPeer, answer, http_peer
from support.systems import bundle, settle_workspace
from wonder.app.application import Application
from wonder.app.engine import Runs
from wonder.app.opening import open_wonder
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.secret_scopes import SecretScope, make_scope
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret

CANARY = "canary-71c0-orange"
TOKEN = "{{secrets.TOKEN}}"


@pytest.fixture(autouse=True)
def record_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Log records made as before when the test has ended; and a folder for the key."""
    monkeypatch.chdir(tmp_path)
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)


@asynccontextmanager
async def opened(url: str, scope: SecretScope | None, runs: Runs = "all") -> AsyncIterator[Application]:
    """An engine whose project has a secret with this scope, and may reach this machine."""
    async with open_wonder(url, runs=runs) as wonder:
        await settle_workspace(wonder, allow_private_addresses=True, allow_shell=True)
        app, owner = wonder, Owner("project", wonder.home.project_id)
        given = ("TOKEN", CANARY, scope)
        await set_secret(app.store, key_source(url), owner, *given, clock=app.clock, new_id=app.new_id)
        yield wonder


def asks(url: str, **mapping: str) -> dict[str, Any]:
    """A node that sends the secret."""
    implementation = {"method": "GET", "url_template": url, "headers": {"x-key": TOKEN}, "response": "text"}
    return {"action": {"kind": "http_request", "implementation": implementation}, "input_mapping": mapping}


async def ends(wonder: Application, definition: dict[str, Any], input: Any = None) -> str:
    """Run a workflow to its end; give the code of its error, or its status."""
    result = await (await wonder.start(await wonder.deploy(definition), input or {})).wait()
    assert CANARY not in repr(result)
    return str(result.error["code"]) if result.error else result.status


def hosts(*peers: HttpPeer) -> tuple[str, ...]:
    """What these peers are called in a scope."""
    return tuple(peer.url.removeprefix("http://") for peer in peers)


async def test_inv_8_a_secret_is_sent_to_the_hosts_of_its_scope_only(store_url: str) -> None:
    """Where the host is filled in, by what it is when it runs; and where a server redirects, not at all."""
    async with http_peer() as friend, http_peer() as other:
        friend.answers["/away"] = answer(307, b"", location=f"{other.url}/there")
        other.answers["/there"] = friend.answers["/here"] = answer(200, b"ok")
        async with opened(store_url, SecretScope(hosts=hosts(friend))) as wonder:
            assert await ends(wonder, bundle("w", {"a": asks(f"{friend.url}/here")})) == "completed"
            assert friend.received[-1].header("x-key") == CANARY
            with pytest.raises(DefinitionRefused, match="secret_out_of_scope"):
                await wonder.deploy(bundle("w", {"a": asks(f"{other.url}/there")}))
            filled = bundle("w", {"a": asks("{{base}}/there", base="$.input.base")})
            assert await ends(wonder, filled, {"base": other.url}) == "SECRET_OUT_OF_SCOPE"
            trick = friend.url.replace("http://", "http://u@") + "@" + other.url.removeprefix("http://")
            assert await ends(wonder, filled, {"base": trick}) in ("SECRET_OUT_OF_SCOPE", "BAD_URL")
            assert other.received == []
            assert await ends(wonder, bundle("w", {"a": asks(f"{friend.url}/away")})) == "completed"
            assert [one.header("x-key") for one in other.received] == [None]


async def test_inv_8_a_secret_is_not_handed_to_another_host_of_the_same_server(store_url: str) -> None:
    """Many hosts are served at one address, and which one is meant stands in the header Host."""
    async with http_peer() as peer:
        peer.answers["/x"] = answer(200, b"ok")
        node = asks(f"{peer.url}/x")
        node["action"]["implementation"]["headers"]["hOST"] = "{{other}}"
        node["input_mapping"] = {"other": "authors.example"}
        async with opened(store_url, SecretScope(hosts=hosts(peer))) as wonder:
            assert await ends(wonder, bundle("w", {"a": node})) == "BAD_HEADER"
        assert peer.received == []


@pytest.mark.parametrize("runs", ["all", "own"])
async def test_inv_8_a_secret_without_a_scope_is_for_local_runs_alone(
    store_url: str, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning there; elsewhere it is refused with the command that gives it a scope."""
    async with http_peer() as peer:
        peer.answers["/x"] = answer(200, b"ok")
        (host,) = hosts(peer)
        async with opened(store_url, None, runs) as wonder:
            workflow = await wonder.deploy(bundle("w", {"a": asks(f"{peer.url}/x")}))
            result: Any = await (await wonder.start(workflow, {})).wait()
    if runs == "own":
        assert (result.status, len(peer.received)) == ("completed", 1)
        assert f"wonder secrets scope TOKEN --for-host {host}" in caplog.text
    else:
        assert (result.error["code"], peer.received) == ("SECRET_UNSCOPED", [])
        assert f"wonder secrets scope TOKEN --for-host {host}" in result.error["message"]


async def test_inv_8_a_secret_is_for_the_workflows_of_its_scope_by_the_definition_that_uses_it(store_url: str) -> None:
    """A workflow that calls the one that may use it can call it; one that is called by it gains nothing."""
    async with http_peer() as peer:
        peer.answers["/x"] = answer(200, b"ok")
        action = {"shared": {**asks("{{base}}/x")["action"]}}
        node = {"action": "shared", "input_mapping": {"base": "$.input.base"}}
        calls = {"kind": "workflow_call", "implementation": {"workflow_def_id": "pays"}}
        above = {"a": {"action": calls, "input_mapping": {"base": "$.input.base"}}}
        below = {
            "a": {
                "action": {**calls, "implementation": {"workflow_def_id": "spies"}},
                "input_mapping": node["input_mapping"],
            }
        }
        given = {"base": peer.url}
        async with opened(store_url, None) as wonder:
            scope = make_scope([*hosts(peer)], [], [], [], ["pays"], wonder.home.project_id)
            app, owner = wonder, Owner("project", wonder.home.project_id)
            await set_secret(
                app.store, key_source(store_url), owner, "TOKEN", CANARY, scope, clock=app.clock, new_id=app.new_id
            )
            assert await ends(wonder, {**bundle("pays", {"a": node}), "actions": action}, given) == "completed"
            assert await ends(wonder, bundle("above", above), given) == "completed"
            assert len(peer.received) == 2
            assert await ends(wonder, bundle("spies", {"a": node}), given) == "SECRET_OUT_OF_SCOPE"
            assert await ends(wonder, bundle("pays", below), given) == "CHILD_FAILED"
            assert len(peer.received) == 2


async def test_inv_8_a_secret_is_given_to_the_programs_of_its_scope_by_where_they_are_found(store_url: str) -> None:
    """Not to one of the same name that a PATH of the definition leads to."""
    program = str(which("true"))

    def runs(*command: str, **env: str) -> dict[str, Any]:
        implementation = {"command": list(command), "env": {"T": TOKEN, **env}}
        return bundle("w", {"a": {"action": {"kind": "shell_command", "implementation": implementation}}})

    async with opened(store_url, SecretScope(programs=(program,))) as wonder:
        assert await ends(wonder, runs("true")) == "completed"
        assert await ends(wonder, runs(program)) == "completed"
        for definition in (runs("sh", "-c", "true"), runs("./true"), runs("true", PATH=f".:{Path(program).parent}")):
            assert await ends(wonder, definition) == "SECRET_OUT_OF_SCOPE"


async def test_inv_8_a_key_of_a_model_goes_to_the_hosts_of_its_scope_only(store_url: str) -> None:
    async with http_peer() as peer:
        node = {"action": {"kind": "llm_call", "implementation": {"prompt_spec_id": "p", "model_profile_id": "m"}}}
        config = {"base_url": "{{secrets.TOKEN}}", "api_key": "k"}
        sections = {
            "prompts": {"p": {"template": "hello"}},
            "models": {"m": {"provider": "local", "model_id": "x", "execution_config": config}},
        }
        async with opened(store_url, SecretScope(hosts=("api.example.com",))) as wonder:
            app, owner = wonder, Owner("project", wonder.home.project_id)
            given = ("TOKEN", f"{peer.url}/v1", SecretScope(hosts=("api.example.com",)))
            await set_secret(app.store, key_source(store_url), owner, *given, clock=app.clock, new_id=app.new_id)
            assert await ends(wonder, {**bundle("w", {"a": node}), **sections}) == "SECRET_OUT_OF_SCOPE"
        assert peer.received == []
