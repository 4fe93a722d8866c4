"""Requests that wait for the end of a run: they end with their client, and with the server (API-3, API-5)."""

import shutil
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.asking import ASK, deploy
from support.servers import RunningServer, running_server

SECONDS = 20.0


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def waiting_run(server: RunningServer) -> str:
    """Start a run that waits for a person."""
    with server.client() as client:
        deploy(client, ASK)
        return str(client.post("/v1/workflows/asks/runs", json={}).json()["run_id"])


def test_api_3_a_client_that_goes_away_is_waited_for_no_longer(server: RunningServer) -> None:
    run_id, usage = waiting_run(server), server.door.usage
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as connection:
        connection.sendall(f"GET /v1/runs/{run_id}?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: bool(usage.at_once))
    until(lambda: not usage.at_once)


def test_api_5_a_server_that_stops_ends_what_waits_with_an_answer(sqlite_template: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite_template, tmp_path / "wonder.db")
    begun = time.monotonic()
    with (
        ThreadPoolExecutor(1) as threads,
        running_server(f"sqlite:///{tmp_path / 'wonder.db'}") as server,
        server.client() as client,
    ):
        run_id = waiting_run(server)
        answer = threads.submit(client.get, f"/v1/runs/{run_id}?wait=60")
        until(lambda: bool(server.door.usage.at_once))
        server.loop.call_soon_threadsafe(server.door.stopping.set)
        assert answer.result(SECONDS).status_code == 200
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "STOPPING")
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/runs").json()["code"] == "STOPPING"
    assert time.monotonic() - begun < 3 * SECONDS
