"""Bad requests, each with its answer; none of them changes anything, ends the server or holds it up (API-1)."""

import gzip
import json
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.asking import ECHO, deploy
from support.servers import RunningServer, running_server
from wonder.api.limits import Limits

START = "/v1/workflows/echo/runs"
JSON = {"content-type": "application/json"}
SECONDS = 30.0


@pytest.fixture(scope="module", autouse=True)
def _echo(client: httpx2.Client) -> None:
    deploy(client, ECHO)


@pytest.fixture(scope="module")
def impatient(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with low limits."""
    path = tmp_path_factory.mktemp("impatient") / "wonder.db"
    shutil.copy(sqlite_template, path)
    limits = Limits(header_seconds=0.3, body_seconds=0.3, header_bytes=2_000, body_bytes=5_000, requests_per_second=20)
    with running_server(f"sqlite:///{path}", limits=limits) as running:
        yield running


def raw(server: RunningServer, *parts: bytes, pause: float = 0.0) -> tuple[int, dict[str, Any], bool]:
    """Send bytes as they are; give the status and the body of the answer, and whether the connection was ended."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as connection:
        got = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            while b"\r\n\r\n" not in got and (more := connection.recv(65_536)):
                got += more
            head, _, body = got.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"content-length" in line.lower())
            while len(body) < length and (more := connection.recv(65_536)):
                body += more
        except ConnectionResetError:
            return 0, {}, True
        closes = b"connection: close" in head.lower()
        return int(head.split(b" ")[1]), json.loads(body), closes


BODIES = [
    ("100,000 nested brackets", b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 200"),
    ("201 nested objects", b'{"input": ' + b'{"a": ' * 201 + b"1" + b"}" * 202, "nested deeper than 200"),
    ("invalid UTF-8", b'{"input": "\xff\xfe"}', "not UTF-8 at byte 11"),
    ("an overlong escape of NUL", b'{"input": "\xc0\x80"}', "not UTF-8"),
    ("NUL in a string", b'{"input": "a\\u0000b"}', "U+0000"),
    ("NUL in a key", b'{"input": {"a\\u0000": 1}}', "U+0000"),
    ("a raw NUL", b'{"input": "a\x00b"}', "not JSON"),
    ("half of a surrogate pair", b'{"input": "\\ud800"}', "surrogate"),
    ("duplicate keys", b'{"input": 1, "input": 2}', "occurs twice"),
    ("duplicate keys inside", b'{"input": {"a": 1, "a": 2}}', "occurs twice"),
    ("NaN", b'{"input": NaN}', "NaN is not a JSON number"),
    ("Infinity", b'{"input": -Infinity}', "not a JSON number"),
    ("a number beyond doubles", b'{"input": 1e999}', "beyond what a double can hold"),
    ("an integer of a million digits", b'{"input": ' + b"9" * 1_000_000 + b"}", "digits"),
    ("many long integers", b'{"input": [' + b",".join([b"9" * 4_000] * 400) + b"]}", "long integers"),
    ("half a document", b'{"input": {', "not JSON"),
    ("two documents", b"{} {}", "not JSON"),
    ("no object", b"[1]", "not a JSON object"),
    ("a text", b'"x"', "not a JSON object"),
    ("an unknown field", b'{"inptu": 1}', "unknown field 'inptu'"),
    ("the tenant in the body", b'{"input": {}, "project": "other"}', "unknown field 'project'"),
    ("a byte order mark", b"\xef\xbb\xbf{}", "not JSON"),
]


@pytest.mark.parametrize(("body", "message"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
def test_api_1_a_body_that_is_not_strict_json_is_refused(client: httpx2.Client, body: bytes, message: str) -> None:
    answer = client.post(START, content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    assert message in answer.json()["error"]


def test_api_1_integers_of_any_size_arrive_as_they_were_written(client: httpx2.Client) -> None:
    for number in (2**53 + 1, 2**63, -(2**64), 10**5_000 + 7):
        body = b'{"input": {"number": ' + _digits(number) + b"}}"
        done = client.post(START + "?wait=30", content=body, headers=JSON)
        assert done.status_code == 201, done.text
        assert _digits(number) in done.content


def _digits(number: int) -> bytes:
    # str() of an integer stops at 4,300 digits.
    return str(Decimal(number)).encode()


TYPES = [
    ({"content-type": "text/plain"}, b"{}", "TYPE_REFUSED"),
    ({"content-type": "application/x-www-form-urlencoded"}, b"a=1", "TYPE_REFUSED"),
    ({"content-type": "multipart/form-data; boundary=x"}, b"--x", "TYPE_REFUSED"),
    ({"content-type": "application/json; charset=utf-16"}, "{}".encode("utf-16"), "TYPE_REFUSED"),
    ({}, b"{}", "TYPE_REFUSED"),
    ({**JSON, "content-encoding": "gzip"}, gzip.compress(b" " * 10_000_000 + b"{}"), "ENCODING_REFUSED"),
    ({**JSON, "content-encoding": "deflate, gzip"}, b"x", "ENCODING_REFUSED"),
]


@pytest.mark.parametrize(("headers", "body", "code"), TYPES)
def test_api_1_a_body_of_another_type_or_compressed_is_415(
    client: httpx2.Client, headers: dict[str, str], body: bytes, code: str
) -> None:
    answer = client.post(START, content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, code)


def test_api_1_a_large_body_is_cut_off_early_with_a_length_and_without(server: RunningServer) -> None:
    declared = b"POST " + START.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, body, closes = raw(server, declared + b"Content-Length: 1000000000\r\n\r\n{")
    assert (status, body["code"], closes) == (413, "BODY_TOO_LARGE", True)
    begun = time.monotonic()
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as connection:
        connection.sendall(declared + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        with suppress(BrokenPipeError, ConnectionResetError):
            while sent < 1_000_000_000:
                connection.sendall(chunk)
                sent += len(chunk)
    assert sent < 50_000_000, "it was read for long after it was too much"
    assert time.monotonic() - begun < SECONDS
    assert server.door.usage.bytes_in_flight == 0


def test_api_1_a_large_body_in_chunks_is_answered_413(server: RunningServer) -> None:
    head = b"POST " + START.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    status, body, closes = raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 62)
    assert (status, body.get("code"), closes) in ((413, "BODY_TOO_LARGE", True), (0, None, True))


def test_api_1_slow_headers_and_bodies_end(impatient: RunningServer) -> None:
    # Nothing at all, a line that does not end, and one header after another.
    status, body, _ = raw(impatient)
    assert (status, body["code"]) == (408, "HEADERS_TOO_SLOW")
    assert raw(impatient, b"GET /healthz HTTP/1.1\r\nHost: lo")[0] == 408
    assert raw(impatient, b"GET /healthz HTTP/1.1\r\n", *[b"A: b\r\n"] * 20, pause=0.05)[0] in (408, 0)
    head = b"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, body, closes = raw(impatient, head + b'Content-Length: 500\r\n\r\n{"name": ')
    assert (status, body["code"], closes) == (408, "BODY_TOO_SLOW", True)
    # A second request on the same connection as well.
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=SECONDS) as connection:
        connection.sendall(whole)
        assert b"200 OK" in connection.recv(65_536)
        connection.sendall(whole[:20])
        assert b"408" in connection.recv(65_536)


def test_api_1_headers_are_bounded(impatient: RunningServer, server: RunningServer) -> None:
    status, body, _ = raw(impatient, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 3_000 + b"\r\n\r\n")
    assert (status, body["code"]) in ((431, "HEADERS_TOO_LARGE"), (400, "BAD_HTTP"))
    assert raw(impatient, b"GET /" + b"x" * 10_000)[0] in (431, 400)
    assert raw(server, b"GET /" + b"x" * 5_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 400


PATHS = [
    (b"/v1/runs/../keys", 404),
    (b"/v1/runs/%2e%2e/keys", 404),
    (b"/v1/runs/%2E%2E%2Fkeys", 404),
    (b"/v1/./runs", 404),
    (b"/v1//runs", 404),
    (b"//v1/runs", 404),
    (b"/v1/runs/", 404),
    (b"/v1/runs;x=1", 404),
    (b"/V1/RUNS", 404),
    (b"/v1/runs/%00", 400),
    (b"/v1/runs/%0d%0aSet-Cookie:%20a=b", 400),
    (b"/v1/runs/%ff", 400),
    (b"/v1/runs/%c0%ae%c0%ae", 400),
    (b"/v1/runs/%", 404),
    (b"/v1/runs\\..\\keys", 404),
    (b"/healthz/../v1/keys", 404),
    (b"/v1/keys/healthz", 404),
    (b"http://evil.example/v1/runs", 403),
    (b"*", 404),
]


@pytest.mark.parametrize(("path", "status"), PATHS)
def test_api_1_a_path_means_what_it_says(server: RunningServer, path: bytes, status: int) -> None:
    host = b"evil.example" if b"evil" in path else b"localhost"
    got, body, _ = raw(server, b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    assert got in (status, 400), body
    assert body.keys() == {"error", "code", "errors"}


SMUGGLED = [
    (b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"0\r\n\r\nGET /v1/keys HTTP/1.1\r\nHost: x\r\n\r\n"),
    (b"Content-Length: 4\r\nContent-Length: 5", b"{}  x"),
    (b"Content-Length: +4", b"{}  "),
    (b"Content-Length: 4, 4", b"{}  "),
    (b"Content-Length: -1", b""),
    (b"Transfer-Encoding: chunked, identity", b"0\r\n\r\n"),
    (b"Transfer-Encoding: xchunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding:\x0bchunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding : chunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", b"0\r\n\r\n"),
    (b" Content-Length: 4", b"{}  "),
    (b"Content-Length: 2\nX: y", b"{}"),
    (b"X\x00Y: z\r\nContent-Length: 2", b"{}"),
    (b"Transfer-Encoding: chunked", b"zz\r\n{}\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked", b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
]


@pytest.mark.parametrize(("headers", "body"), SMUGGLED)
def test_api_1_a_request_that_could_be_read_in_two_ways_is_refused(
    server: RunningServer, headers: bytes, body: bytes
) -> None:
    head = b"POST " + START.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, answer, closes = raw(server, head + headers + b"\r\n\r\n" + body)
    assert (status, closes) == (400, True), answer


def test_api_1_headers_can_not_be_injected_into_answers(client: httpx2.Client, server: RunningServer) -> None:
    answer = client.get("/v1/runs", params={"workflow": "a\r\nSet-Cookie: a=b"})
    assert "set-cookie" not in answer.headers
    status, _, _ = raw(server, b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert status == 400
    assert client.get("/healthz", headers={"Host": "localhost"}).headers.get("server") is None


REBINDING = [
    ({"Host": "evil.example"}, "HOST_REFUSED"),
    ({"Host": "evil.example:7878"}, "HOST_REFUSED"),
    ({"Host": "localhost.evil.example"}, "HOST_REFUSED"),
    ({"Host": "127.0.0.1.evil.example"}, "HOST_REFUSED"),
    ({"Host": "localhost@evil.example"}, "HOST_REFUSED"),
    ({"Host": "192.168.0.1"}, "HOST_REFUSED"),
    ({"Host": "[::ffff:8.8.8.8]"}, "HOST_REFUSED"),
    ({"Host": "localhost", "Origin": "https://evil.example"}, "ORIGIN_REFUSED"),
    ({"Host": "localhost", "Origin": "null"}, "ORIGIN_REFUSED"),
    ({"Host": "localhost:7878", "Origin": "http://localhost:3000"}, "ORIGIN_REFUSED"),
    ({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, "ORIGIN_REFUSED"),
]


@pytest.mark.parametrize(("headers", "code"), REBINDING)
def test_api_5_without_keys_no_page_of_another_site_is_answered(
    client: httpx2.Client, headers: dict[str, str], code: str
) -> None:
    for method, path in (("GET", "/v1/runs"), ("POST", "/v1/retention/apply")):
        answer = client.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, code)


def test_api_5_without_keys_this_machine_is_answered_by_each_of_its_names(client: httpx2.Client) -> None:
    for host in ("localhost", "LOCALHOST:7878", "127.0.0.1", "127.0.0.2:1", "[::1]:7878"):
        headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        assert client.get("/v1/runs", headers=headers).status_code == 200


def test_api_1_forged_and_foreign_cursors_are_refused(client: httpx2.Client) -> None:
    assert client.post("/v1/projects", json={"name": "cursors"}).status_code == 201
    page = client.get("/v1/projects?limit=1").json()
    cursor = page["cursor"]
    assert client.get("/v1/projects", params={"limit": 1, "cursor": cursor}).status_code == 200
    for _ in range(2):
        client.post(START, json={"input": {"number": 1}})
    own = client.get("/v1/runs?limit=1").json()["cursor"]
    flipped = ("A" if own[0] != "A" else "B") + own[1:]
    for path, forged in [
        ("/v1/runs", flipped),
        ("/v1/runs", own[22:]),
        ("/v1/runs", cursor),
        ("/v1/runs", "x" * 9_000),
        ("/v1/runs", "é"),
        ("/v1/projects/cursors/runs", own),
        ("/v1/inbox", own),
    ]:
        answer = client.get(path, params={"cursor": forged})
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_CURSOR"), (path, forged)
    assert client.get("/v1/runs", params={"cursor": own}).status_code == 200


def test_api_1_a_caller_that_asks_too_often_is_told_when_to_go_on(impatient: RunningServer) -> None:
    with impatient.client() as client:
        answers = [client.get("/v1/runs") for _ in range(60)]
    refused = [one for one in answers if one.status_code == 429]
    assert refused
    assert {one.status_code for one in answers} == {200, 429}
    assert refused[0].json()["code"] == "TOO_MANY_REQUESTS"
    assert refused[0].headers["retry-after"] == "1"


def test_the_server_still_answers(client: httpx2.Client) -> None:
    assert client.get("/readyz").json()["ready"]
    assert client.post(START + "?wait=30", json={"input": {"number": 1}}).json()["status"] == "completed"
