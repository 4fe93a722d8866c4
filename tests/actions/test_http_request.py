"""`http_request` (ACT-3, ACT-9, ACT-10, RET-1, RET-4) against a real server on loopback."""

import asyncio
import email.utils
import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.http_peer import Answer, HttpPeer, Received, answer, http_peer
from support.http_requests import Asking, settled
from support.tasks import action, bench, step, task, until
from wonder.actions.http.client import guarded_client
from wonder.actions.http_request import kind as http_request
from wonder.actions.http_request import responses as http_responses
from wonder.actions.protocol import ActionFailed
from wonder.definitions.records.tenancy import WorkspaceSettings


def packed(data: bytes) -> bytes:
    """Pack without the time of day, which would have each process of the tests see other ones."""
    return gzip.compress(data, mtime=0)


CANARY = "c4n4ry-Zx81/+ä "


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    """The kind, in a workspace that allows loopback, with two secrets; nothing is left behind of it."""
    async with Asking(secrets={"TOKEN": CANARY, "OTHER": "another-secret"}) as made:
        yield made
        # A request that was not let go of would keep its place among the connections for ever.
        assert [
            transport._pool._requests for transport in made.kind._transports.values() if transport._pool._requests
        ] == []
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert [task for task in others if "serve" not in repr(task)] == []


@pytest.fixture
async def peer() -> AsyncIterator[HttpPeer]:
    """A server that a test gives answers to; when it is over, nobody is connected to it any more."""
    async with http_peer(ok=answer(200, {"fine": True})) as made:
        yield made


async def failure(asking: Asking, url: str, input: Any = None, **fields: Any) -> ActionFailed:
    """Send a request that fails."""
    with pytest.raises(ActionFailed) as failed:
        async with asyncio.timeout(60):
            await asking.ask(url, input, **fields)
    assert CANARY not in str(failed.value)
    assert CANARY not in repr(failed.value.details)
    return failed.value


# What goes out


async def test_act_9_url_headers_and_body_are_templates_over_the_input(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/users/a%2Fb%20c%3F"] = answer(200, {"id": 7}, X_Kind="user", content_type="application/json")
    output = await asking.ask(
        peer.url + "/users/{{id}}?q={{input.q}}&n={{n}}",
        {"id": "a/b c?", "q": "x&y=ü", "n": 3, "who": {"name": 'A "quoted" name'}, "lang": "de"},
        method="POST",
        headers={"X-Lang": "{{lang}}"},
        body_template='{"who": {{json who}}}',
    )
    assert (output["status"], output["body"]) == (200, {"id": 7})
    assert (output["headers"]["x-kind"], output["headers"]["content-length"]) == ("user", "9")
    (received,) = peer.received
    assert (received.method, received.target) == ("POST", "/users/a%2Fb%20c%3F?q=x%26y%3D%C3%BC&n=3")
    assert json.loads(received.body) == {"who": {"name": 'A "quoted" name'}}
    assert received.header("x-lang") == "de"
    assert received.header("content-type") == "application/json"
    assert received.header("accept") == "application/json"
    assert received.header("host") == f"127.0.0.1:{peer.port}"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])
async def test_act_10_every_method_is_sent_as_such(method: str, asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/ok"] = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n" + (
        b"" if method == "HEAD" else b'{"fine":true}'
    )
    output = await asking.ask(f"{peer.url}/ok", method=method, body_template="{}")
    assert output["body"] == (None if method == "HEAD" else {"fine": True})
    (received,) = peer.received
    # A GET has no body, whatever its author wrote.
    assert (received.method, received.body) == (method, b"" if method in ("GET", "HEAD") else b"{}")


async def test_a_url_may_begin_with_a_value(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/v1/a%2Fb"] = answer(200, 1)
    assert (await asking.ask("{{base}}/{{id}}", {"base": f"{peer.url}/v1", "id": "a/b"}))["body"] == 1
    peer.answers["/page"] = answer(200, 2)
    assert (await asking.ask("{{next}}", {"next": f"{peer.url}/page?after=a%20b&n=1"}))["body"] == 2
    assert peer.received[1].target == "/page?after=a%20b&n=1"


@pytest.mark.parametrize("sign", ["\r\n", "\n", "\r", "\x00", "\x0b", "\x7f"])
async def test_a_line_break_in_a_value_can_not_begin_another_header(sign: str, asking: Asking, peer: HttpPeer) -> None:
    failed = await failure(asking, f"{peer.url}/ok", {"v": f"a{sign}Evil: 1"}, headers={"X-A": "{{v}}"})
    assert (failed.code, failed.details) == ("BAD_HEADER", {"header": "X-A"})
    await asking.ask(peer.url + "/ok?{{v}}", {"v": f"a{sign}Evil: 1"})
    assert [received.header("evil") for received in peer.received] == [None]


@pytest.mark.parametrize("value", ["..", ".", "%2e%2E"])
async def test_a_value_can_not_lead_out_of_the_path_that_it_stands_in(
    value: str, asking: Asking, peer: HttpPeer
) -> None:
    failed = await failure(asking, peer.url + "/users/" + value + "/x")
    assert failed.code == "BAD_URL"
    if "%" not in value:
        assert (await failure(asking, peer.url + "/users/{{v}}/x", {"v": value})).code == "BAD_URL"
    assert peer.received == []


async def test_a_host_out_of_a_value_is_that_and_nothing_else(asking: Asking, peer: HttpPeer) -> None:
    assert (await failure(asking, "http://{{h}}.example.com/", {"h": "127.0.0.1/"})).code == "BAD_URL"
    assert (await failure(asking, "http://{{h}}.example.com/", {"h": "127.0.0.1#"})).code == "BAD_URL"
    assert (await failure(asking, "http://{{h}}.example.com/", {"h": "evil@127.0.0.1"})).code == "BAD_URL"
    assert (await failure(asking, "http://{{h}}/", {"h": "axn--"})).code == "BAD_URL"
    assert (await failure(asking, "{{h}}", {"h": None})).message.startswith("GET has an empty address; correct url_")


async def test_a_text_between_quotes_that_breaks_the_json_is_told_before_it_is_sent(
    asking: Asking, peer: HttpPeer
) -> None:
    body = {"method": "POST", "body_template": '{"name": "{{name}}"}'}
    failed = await failure(asking, f"{peer.url}/ok", {"name": 'the "best"'}, **body)
    assert (failed.code, failed.retryable) == ("BAD_BODY", False)
    assert "{{json name}}" in str(failed)
    # Deeper than Python's stack, which was an error of Python's own.
    failed = await failure(asking, f"{peer.url}/ok", {"name": "["}, method="POST", body_template="[" * 5_000)
    assert failed.code == "BAD_BODY"
    assert peer.received == []
    await asking.ask(f"{peer.url}/ok", {"name": 'the "best"'}, headers={"Content-Type": "text/plain"}, **body)
    assert peer.received[0].body == b'{"name": "the "best""}'


async def test_ret_4_the_key_of_an_idempotent_action_is_sent_unless_the_author_gave_one(
    asking: Asking, peer: HttpPeer
) -> None:
    await asking.ask(f"{peer.url}/ok", key="order-7")
    await asking.ask(f"{peer.url}/ok", key="order-7", headers={"idempotency-key": "mine"})
    await asking.ask(f"{peer.url}/ok")
    await asking.ask(f"{peer.url}/ok", key="line\nbreak")
    first, second, third, fourth = (received.header("idempotency-key") for received in peer.received)
    assert (first, second, third) == ("order-7", "mine", None)
    assert fourth is not None
    assert (len(fourth), fourth.isalnum()) == (64, True)  # a digest, where the key can't be in a header


async def test_secrets_go_out_in_url_headers_and_body_and_only_those_that_are_named(
    asking: Asking, peer: HttpPeer
) -> None:
    peer.answers["/hook"] = answer(200, {})
    await asking.ask(
        peer.url + "/hook?t={{secrets.TOKEN}}",
        {"secrets": {"TOKEN": "from the input"}, "x": 1},
        method="POST",
        headers={"X-Token": "Bearer {{secrets.OTHER}}"},
        body_template='{"t": {{json secrets.TOKEN}}, "others": {{json secrets}}}',
    )
    (received,) = peer.received
    assert received.target == "/hook?t=c4n4ry-Zx81%2F%2B%C3%A4%20"
    assert received.header("x-token") == "Bearer another-secret"
    assert json.loads(received.body) == {"t": CANARY, "others": {"TOKEN": CANARY}}
    failed = await failure(asking, peer.url + "/gone/{{secrets.TOKEN}}")
    assert "GET " + peer.url + "/gone/secret-TOKEN was answered with 404 Not Found" in str(failed)
    assert (await failure(asking, "http://x/{{secrets.NONE}}")).code == "SECRET_MISSING"
    assert (await failure(asking, "http://a b/{{secrets.TOKEN}}")).code == "BAD_URL"


async def test_a_name_and_a_password_in_the_url_are_sent_as_basic_authorization(asking: Asking, peer: HttpPeer) -> None:
    url = peer.url.replace("http://", "http://ada:{{p}}@")
    await asking.ask(url + "/ok", {"p": "pass:word@1"})
    assert peer.received[0].header("authorization") == "Basic YWRhOnBhc3M6d29yZEAx"
    assert peer.received[0].header("host") == f"127.0.0.1:{peer.port}"
    failed = await failure(asking, url + "/gone", {"p": "pass:word@1"})
    assert str(failed).startswith(f"GET {peer.url}/gone was answered with 404")


# What comes back


@pytest.mark.parametrize(
    ("response", "raw", "body"),
    [
        ("json", answer(200, '{"a": [1, "é"]}'), {"a": [1, "é"]}),
        ("json", answer(200, b'\xef\xbb\xbf"with a mark"'), "with a mark"),
        ("json", answer(200, ""), None),
        ("json", answer(200, " \n"), None),
        ("json", b"HTTP/1.1 204 No Content\r\n\r\n", None),
        ("json", b"HTTP/1.1 304 Not Modified\r\ncontent-encoding: gzip\r\n\r\n", None),
        ("text", b"HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("text", answer(200, "plain"), "plain"),
        ("text", answer(200, "gr\xfc\xdfe".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1"), "grüße"),
        ("text", answer(200, "日本".encode("shift_jis"), content_type='text/html; charset="Shift_JIS"'), "日本"),
        ("text", answer(200, "é", content_type="text/plain; charset=rot13"), "é"),
        ("text", answer(200, "é", content_type="text/plain; charset=idna"), "é"),
        ("json", b"HTTP/1.0 200 OK\r\n\r\n[1]", [1]),
        ("json", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n", [1]),
        ("json", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + answer(200, 1), 1),
        ("json", answer(200, packed(b'"packed"'), content_encoding="gzip"), "packed"),
        ("json", answer(200, packed(b"[1,") + packed(b"2]"), content_encoding="x-gzip"), [1, 2]),
        ("json", answer(200, zlib.compress(b'"packed"'), content_encoding="deflate"), "packed"),
        ("json", answer(200, zlib.compress(b'"packed"', wbits=-15), content_encoding="deflate"), "packed"),
        ("json", answer(200, packed(b"1") + b"\0\0\0padding", content_encoding="gzip"), 1),
        ("json", answer(200, b"", content_encoding="gzip"), None),
        ("json", answer(200, b"1", content_encoding="identity"), 1),
        ("json", answer(302, {"moved": "nowhere"}), {"moved": "nowhere"}),
    ],
)
async def test_act_10_a_body_is_read_as_json_or_text(
    response: str, raw: bytes, body: Any, asking: Asking, peer: HttpPeer
) -> None:
    async def reply(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        if b"HTTP/1.0" in raw:
            writer.close()

    peer.answers["/it"] = reply
    assert (await asking.ask(f"{peer.url}/it", response=response))["body"] == body


async def test_headers_are_in_lower_case_and_joined_where_they_came_several_times(
    asking: Asking, peer: HttpPeer
) -> None:
    lines = "Vary: a\r\nVARY: b\r\nSet-Cookie: x=1; Expires=Thu, 01 Jan\r\nset-cookie: y=2\r\nX-Ü: \xfc\r\n".encode(
        "latin-1"
    )
    lines = lines.replace(b"X-\xdc", b"X-U")
    peer.answers["/it"] = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n" + lines + b"\r\n1"
    headers = (await asking.ask(f"{peer.url}/it"))["headers"]
    assert headers == {
        "content-length": "1",
        "vary": "a, b",
        "set-cookie": "x=1; Expires=Thu, 01 Jan\ny=2",
        "x-u": "ü",
    }


async def test_cookies_are_not_kept_from_one_request_for_the_next(asking: Asking, peer: HttpPeer) -> None:
    """One server's requests are many projects'."""
    peer.answers["/ok"] = answer(200, 1, set_cookie="session=1")
    await asking.ask(f"{peer.url}/ok")
    await asking.ask(f"{peer.url}/ok")
    async with guarded_client(allow_private=True) as client:
        await client.get(f"{peer.url}/ok")
        await client.get(f"{peer.url}/ok")
    assert [received.header("cookie") for received in peer.received] == [None] * 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 418, 422, 499])
async def test_ret_1_other_refusals_are_business_errors_with_what_was_answered(
    status: int, asking: Asking, peer: HttpPeer
) -> None:
    peer.answers["/it"] = answer(status, {"error": "no such\n order"}, X_Request_Id="r1")
    failed = await failure(asking, f"{peer.url}/it")
    assert (failed.code, failed.retryable, failed.retry_after_ms) == (f"HTTP_{status}", False, None)
    assert failed.details["status"] == status
    assert failed.details["body"] == '{"error": "no such\\n order"}'
    assert failed.details["headers"]["x-request-id"] == "r1"  # type: ignore[index,call-overload]
    assert f"name {status} in accept_status" in str(failed)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_ret_1_what_may_pass_is_retryable_and_retry_after_is_told(
    status: int, asking: Asking, peer: HttpPeer
) -> None:
    peer.answers["/it"] = answer(status, "x" * 100_000, Retry_After="7")
    failed = await failure(asking, f"{peer.url}/it")
    assert (failed.code, failed.retryable, failed.retry_after_ms) == (f"HTTP_{status}", True, 7_000)
    assert len(str(failed.details["body"])) == 2_000
    peer.answers["/it"] = answer(status, "", Retry_After=email.utils.formatdate(time.time() + 60, usegmt=True))
    waiting = (await failure(asking, f"{peer.url}/it")).retry_after_ms
    assert waiting is not None
    assert 50_000 < waiting <= 60_000


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        ("0", 0),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("9" * 400, 86_400_000),
        ("1.5", 1_500),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
        ("٣", None),
    ],
)
async def test_a_retry_after_that_makes_no_sense_is_none(
    text: str, waiting: int | None, asking: Asking, peer: HttpPeer
) -> None:
    peer.answers["/it"] = b"HTTP/1.1 503 X\r\ncontent-length: 0\r\nretry-after: " + text.encode() + b"\r\n\r\n"
    assert (await failure(asking, f"{peer.url}/it")).retry_after_ms == waiting


async def test_act_10_an_accepted_status_is_an_answer(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/json"] = answer(404, {"why": "gone"})
    peer.answers["/page"] = answer(404, "<h1>gone</h1>")
    peer.answers["/moved"] = answer(302, "", location="/ok")
    output = await asking.ask(f"{peer.url}/json", accept_status=[404])
    assert (output["status"], output["body"]) == (404, {"why": "gone"})
    # A page for people, where the rest is JSON.
    assert (await asking.ask(f"{peer.url}/page", accept_status=[404]))["body"] == "<h1>gone</h1>"
    output = await asking.ask(f"{peer.url}/moved", accept_status=[302])
    assert (output["status"], output["headers"]["location"]) == (302, "/ok")


async def test_an_artifact_needs_an_object_store(asking: Asking, peer: HttpPeer) -> None:
    failed = await failure(asking, f"{peer.url}/ok", response="artifact")
    assert (failed.code, peer.received) == ("NO_OBJECT_STORE", [])


# Redirects


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "GET", "GET"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
async def test_redirects_change_the_method_as_browsers_do(
    status: int, method: str, then: str, asking: Asking, peer: HttpPeer
) -> None:
    peer.answers["/old"] = answer(status, "", location="../new?x=1#part")
    peer.answers["/new"] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
    await asking.ask(f"{peer.url}/old", method=method, headers={"Authorization": "Bearer 1"}, body_template="{}")
    second = peer.received[1]
    assert (second.method, second.target) == (then, "/new?x=1")
    kept = method == then and method not in ("GET", "HEAD")
    assert (second.body, second.header("content-type")) == ((b"{}", "application/json") if kept else (b"", None))
    assert second.header("authorization") == "Bearer 1"


async def test_act_3_what_is_private_is_not_carried_to_another_host(asking: Asking, peer: HttpPeer) -> None:
    """Another port is another host; and what was dropped does not come back on the way back."""
    async with http_peer() as other:
        peer.answers["/old"] = answer(307, "", location=f"http://x:y@127.0.0.1:{other.port}/there")
        other.answers["/there"] = answer(307, "", location=f"{peer.url}/ok")
        headers = {
            "Authorization": "Bearer 1",
            "Cookie": "a=1",
            "X-Api-Key": "literal",
            "X-Plain": "{{secrets.TOKEN}}",
            "X-Lang": "de",
        }
        url = peer.url.replace("http://", "http://ada:pw@")
        await asking.ask(url + "/old", headers=headers, method="POST", body_template='{"b": 1}', key="k1")
        for received in (other.received[0], peer.received[1]):
            sent = {name.lower() for name, _ in received.headers}
            assert not sent & {"authorization", "cookie", "x-api-key", "x-plain"}
            assert (received.header("x-lang"), received.header("idempotency-key")) == ("de", "k1")
            assert received.body == b'{"b": 1}'
        assert other.received[0].header("host") == f"127.0.0.1:{other.port}"


async def test_a_body_with_a_secret_is_not_carried_to_another_host(asking: Asking, peer: HttpPeer) -> None:
    async with http_peer(there=answer(200, 1)) as other:
        peer.answers["/old"] = answer(308, "", location=f"{other.url}/there")
        body = '{"t": {{json secrets.TOKEN}}}'
        failed = await failure(asking, f"{peer.url}/old", method="POST", body_template=body)
        assert (failed.code, other.received) == ("REDIRECT_REFUSED", [])
        peer.answers["/old"] = answer(303, "", location=f"{other.url}/there")
        await asking.ask(f"{peer.url}/old", method="POST", body_template=body)
        assert (other.received[0].method, other.received[0].body) == ("GET", b"")


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "http://[::1",
        "data:,x",
        "unix:/x",
        "http://axn--/",
    ],
)
async def test_a_redirect_leads_to_http_or_nowhere(location: str, asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/old"] = answer(302, "", location=location)
    failed = await failure(asking, f"{peer.url}/old")
    assert (failed.code, failed.retryable) == ("REDIRECT_REFUSED", False)


async def test_ten_redirects_are_followed_and_no_more(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/loop"] = answer(302, "", location="/loop")
    failed = await failure(asking, f"{peer.url}/loop")
    assert (failed.code, len(peer.received)) == ("TOO_MANY_REDIRECTS", 11)
    peer.answers |= {f"/{n}": answer(302, "", location=f"/{n + 1}") for n in range(10)}
    peer.answers["/10"] = answer(200, "there")
    assert (await asking.ask(f"{peer.url}/0", response="text"))["body"] == "there"
    assert peer.connections == 1


async def test_act_3_a_redirect_to_a_private_address_is_refused(
    peer: HttpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real server counts as public here, and nothing else does."""
    monkeypatch.setattr(
        "wonder.actions.http.addresses.why_refused", lambda address: None if address == "127.0.0.1" else "private"
    )
    peer.answers["/old"] = answer(302, "", location=f"http://[::1]:{peer.port}/ok")
    async with Asking(allow_private=False) as asking:
        assert (await asking.ask(f"{peer.url}/ok"))["status"] == 200
        assert (await failure(asking, f"{peer.url}/old")).code == "ADDRESS_REFUSED"


# Hostile servers


def hangs(first: bytes = b"", *, then: bytes = b"", every: float = 0.01) -> Answer:
    """An answer that begins and never ends; `then` is repeated for ever."""

    async def reply(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(every)

    return reply


def closes(raw: bytes, *, abort: bool = False) -> Answer:
    """An answer after which the connection is closed, properly or not."""

    async def reply(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        if abort:
            writer.transport.abort()
        writer.close()

    return reply


BOMB = packed(b"\0" * 40_000_000)
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HOSTILE: list[tuple[str, Answer, str, bool]] = [
    ("closes at once", closes(b""), "CONNECTION_LOST", True),
    ("resets at once", closes(b"", abort=True), "CONNECTION_LOST", True),
    ("cuts its headers", closes(b"HTTP/1.1 200 OK\r\nconte"), "CONNECTION_LOST", True),
    ("cuts its body", closes(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1"), "CONNECTION_LOST", True),
    ("cuts its chunks", closes(CHUNKED + b"5\r\n[1"), "CONNECTION_LOST", True),
    (
        "resets in the body",
        closes(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1", abort=True),
        "CONNECTION_LOST",
        True,
    ),
    (
        "cuts what is packed",
        answer(200, packed(b"[1]" * 99)[:-9], content_encoding="gzip"),
        "CONNECTION_LOST",
        True,
    ),
    ("speaks no HTTP", closes(b"220 smtp.example ESMTP\r\n\r\n"), "BAD_RESPONSE", False),
    ("speaks TLS", closes(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"), "BAD_RESPONSE", False),
    ("chunks are garbage", closes(CHUNKED + b"zz\r\n[1]\r\n0\r\n\r\n"), "BAD_RESPONSE", False),
    ("a chunk's size is huge", closes(CHUNKED + b"f" * 40 + b"\r\n[1]"), "BAD_RESPONSE", False),
    ("content-length is no number", answer(200, 1).replace(b"length: 1", b"length: x"), "BAD_RESPONSE", False),
    (
        "two content-lengths",
        answer(200, 1).replace(b"\r\n\r\n", b"\r\ncontent-length: 2\r\n\r\n"),
        "BAD_RESPONSE",
        False,
    ),
    ("a giant header", closes(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000 + b"\r\n\r\n"), "BAD_RESPONSE", False),
    ("too many headers", closes(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 60_000 + b"\r\n"), "BAD_RESPONSE", False),
    ("endless headers", hangs(b"HTTP/1.1 200 OK\r\n", then=b"x: y\r\n" * 9_999), "BAD_RESPONSE", False),
    ("switches protocols", answer(101, "", connection="upgrade", upgrade="x"), "BAD_RESPONSE", False),
    ("a status of 999", closes(b"HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n"), "HTTP_999", True),
    ("a status of four digits", closes(b"HTTP/1.1 2000 X\r\n\r\n"), "BAD_RESPONSE", False),
    ("not JSON", answer(200, "<html>"), "BAD_RESPONSE", False),
    ("half of JSON", answer(200, '{"a": '), "BAD_RESPONSE", False),
    ("a key twice", answer(200, '{"a": 1, "a": 2}'), "BAD_RESPONSE", False),
    ("deep JSON", answer(200, "[" * 100_000), "BAD_RESPONSE", False),
    ("a giant number", answer(200, "9" * 1_000_000), "BAD_RESPONSE", False),
    ("not a number", answer(200, "NaN"), "BAD_RESPONSE", False),
    ("a NUL in a text", answer(200, '"\\u0000"'), "BAD_RESPONSE", False),
    ("half a letter", answer(200, '"\\ud800"'), "BAD_RESPONSE", False),
    ("no UTF-8", answer(200, b'"\xff\xfe"'), "BAD_RESPONSE", False),
    ("a gzip bomb", answer(200, BOMB, content_encoding="gzip"), "RESPONSE_TOO_LARGE", False),
    (
        "a deflate bomb",
        answer(200, zlib.compress(b"\0" * 40_000_000), content_encoding="deflate"),
        "RESPONSE_TOO_LARGE",
        False,
    ),
    ("a bomb in a bomb", answer(200, packed(BOMB), content_encoding="gzip, gzip"), "BAD_RESPONSE", False),
    ("an encoding that nobody asked for", answer(200, b"\x8b\x03\x80", content_encoding="br"), "BAD_RESPONSE", False),
    ("gzip that is none", answer(200, b"[1]", content_encoding="gzip"), "BAD_RESPONSE", False),
    ("deflate that is none", answer(200, b"\xff\xff\xff[1]", content_encoding="deflate"), "BAD_RESPONSE", False),
    ("an endless body", hangs(b"HTTP/1.1 200 OK\r\n\r\n", then=b" " * 1_000_000, every=0), "RESPONSE_TOO_LARGE", False),
    (
        "endless padding behind what is packed",
        hangs(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + packed(b"1"), then=b"\0" * 1_000_000, every=0),
        "RESPONSE_TOO_LARGE",
        False,
    ),
]


@pytest.mark.parametrize(("reply", "code", "retryable"), [pytest.param(*row[1:], id=row[0]) for row in HOSTILE])
async def test_a_hostile_answer_is_a_failure_in_time(
    reply: Answer, code: str, retryable: bool, asking: Asking, peer: HttpPeer
) -> None:
    """RET-1: a lost connection is retryable, garbage is not; and the kind goes on working."""
    peer.answers["/it"] = reply
    failed = await failure(asking, f"{peer.url}/it")
    assert (failed.code, failed.retryable) == (code, retryable)
    assert str(failed).startswith(f"GET {peer.url}/it ")
    assert (await asking.ask(f"{peer.url}/ok"))["body"] == {"fine": True}
    # None of those connections is used again, but for the ones that were read to their end.
    await until(lambda: peer.open <= 1)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "raw", [answer(200, 1), b"HTTP/1.1 204 X\r\n\r\n", CHUNKED + b"1\r\n1\r\n0\r\n\r\n", answer(302)]
)
async def test_what_comes_behind_an_answer_is_nobodys_answer(
    raw: bytes, method: str, asking: Asking, peer: HttpPeer
) -> None:
    """One connection serves many projects, so a second answer to one request must not become another's."""
    peer.answers["/it"] = raw + answer(200, "smuggled")
    await asking.ask(f"{peer.url}/it", method=method)
    assert (await asking.ask(f"{peer.url}/ok"))["body"] == {"fine": True}
    assert (await asking.ask(f"{peer.url}/ok"))["body"] == {"fine": True}
    assert peer.connections == 2


async def test_text_that_is_none_is_refused(asking: Asking, peer: HttpPeer) -> None:
    for body in (b"\xff\xfe\xfd", b"a\x00b"):
        peer.answers["/it"] = answer(200, body)
        assert (await failure(asking, f"{peer.url}/it", response="text")).code == "BAD_RESPONSE"


async def test_a_large_answer_is_read_while_the_loop_goes_on(
    asking: Asking, peer: HttpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread: at the limit it takes half a second, in which no lease could be renewed."""
    text = json.dumps([{"n": n, "t": "x" * 80} for n in range(80_000)])
    assert 7_000_000 < len(text) < 16_000_000
    peer.answers["/it"] = answer(200, gzip.compress(text.encode(), 1), content_encoding="gzip")
    read_in: list[int] = []

    def read_json(body: bytes) -> Any:
        read_in.append(threading.get_ident())
        return http_responses.read_json(body)

    monkeypatch.setattr("wonder.actions.http_request.exchange.read_json", read_json)
    assert len((await asking.ask(f"{peer.url}/it"))["body"]) == 80_000
    await asking.ask(f"{peer.url}/ok")
    assert [ident == threading.get_ident() for ident in read_in] == [False, True]


async def test_the_endless_body_of_a_redirect_is_not_read(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/old"] = hangs(CHUNKED.replace(b"200 OK", b"302 Found\r\nlocation: /ok"), then=b"1\r\n \r\n")
    assert (await asking.ask(f"{peer.url}/old"))["body"] == {"fine": True}
    await until(lambda: peer.open == 1)


NEVER: list[tuple[str, Answer]] = [
    ("never answers", hangs()),
    ("drips its headers", hangs(b"HTTP/1.1 200 OK\r\n", then=b"x: y\r\n")),
    ("drips its body", hangs(b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", then=b" ")),
    ("drips its chunks", hangs(CHUNKED, then=b"1\r\n \r\n")),
    ("says that it goes on for ever", hangs(then=b"HTTP/1.1 100 Continue\r\n\r\n")),
    ("drips a refusal", hangs(b"HTTP/1.1 404 X\r\ncontent-length: 9999\r\n\r\n", then=b" ")),
]


@pytest.mark.parametrize("reply", [pytest.param(row[1], id=row[0]) for row in NEVER])
async def test_ret_3_what_never_ends_is_ended_by_the_actions_limit(reply: Answer, peer: HttpPeer) -> None:
    """And the connection is closed, so that the server learns of it."""
    peer.answers["/it"] = reply
    async with bench(resources=settled(allow_private=True)) as it:
        get = action(
            "a",
            "http_request",
            {"url_template": f"{peer.url}/it", "method": "GET"},
            execution={"timeout_ms": 150},
        )
        result = await it.run(task(step("a")), {}, get)
        assert result.error
        assert (result.error.code, result.error.retryable) == ("ACTION_TIMEOUT", True)
        await until(lambda: peer.open == 0)
        await it.registry.close()


async def test_a_request_without_any_limit_has_one_nevertheless(
    asking: Asking, peer: HttpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_request, "DEFAULT_SECONDS", 0.1)
    peer.answers["/it"] = hangs()
    failed = await failure(asking, f"{peer.url}/it")
    assert (failed.code, failed.retryable, failed.names) == ("HTTP_TIMEOUT", True, ("TimeoutError",))
    await until(lambda: peer.open == 0)


async def test_cancelling_closes_the_connection(asking: Asking, peer: HttpPeer) -> None:
    peer.answers["/it"] = hangs(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
    requests = [asyncio.create_task(asking.ask(f"{peer.url}/it")) for _ in range(5)]
    await until(lambda: len(peer.received) == 5)
    for request in requests:
        request.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
    await until(lambda: peer.open == 0)
    assert all(request.cancelled() for request in requests)


async def test_no_server_at_all_is_a_retryable_failure(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def know_nobody(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("wonder.actions.http.addresses.resolve_blocking", know_nobody)
    async with http_peer() as gone:
        pass
    failed = await failure(asking, f"{gone.url}/it")
    assert (failed.code, failed.retryable) == ("CONNECTION_FAILED", True)
    failed = await failure(asking, "http://no-such-host.invalid/")
    assert (failed.code, failed.retryable) == ("CONNECTION_FAILED", True)
    assert "no-such-host.invalid can't be found" in str(failed)


async def test_a_certificate_that_nobody_vouches_for_is_refused(asking: Asking, tls_peer: HttpPeer) -> None:
    failed = await failure(asking, f"{tls_peer.url}/ok")
    assert (failed.code, failed.retryable) == ("BAD_CERTIFICATE", False)


@pytest.fixture
async def tls_peer(tmp_path: Any) -> AsyncIterator[HttpPeer]:
    """A server with a certificate of its own making."""
    import datetime
    import ssl

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    certificate = built.sign(key, hashes.SHA256())
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "server.pem").write_bytes(pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.pem")
    async with http_peer(tls=context, ok=answer(200, 1)) as made:
        yield made


# Together with the rest


async def test_connections_are_kept_and_those_of_others_are_not_used(peer: HttpPeer) -> None:
    """What one workspace was allowed to connect to, another does not reach over the same connection."""
    async with Asking() as asking:
        for _ in range(20):
            await asking.ask(f"{peer.url}/ok")
        assert (peer.connections, peer.open) == (1, 1)
        allowed, asking.resources.workspace = asking.resources.workspace, WorkspaceSettings()
        assert (await failure(asking, f"{peer.url}/ok")).code == "ADDRESS_REFUSED"
        asking.resources.workspace = allowed
        await asyncio.gather(*(asking.ask(f"{peer.url}/ok") for _ in range(20)))
        assert peer.connections <= 21
    await until(lambda: peer.open == 0)


async def test_ret_1_a_policy_tries_again_and_obeys_retry_after(peer: HttpPeer) -> None:
    peer.answers["/it"] = [answer(429, "", Retry_After="1"), answer(503), closes(b""), answer(200, "there")]
    async with bench(resources=settled(allow_private=True)) as it:
        get = action(
            "a",
            "http_request",
            {"url_template": f"{peer.url}/it", "method": "GET", "response": "text"},
            execution={"retry_policy": {"max_attempts": 4, "backoff": "none", "initial_delay_ms": 1}},
        )
        began = time.perf_counter()
        result = await it.run(task(step("a")), {}, get)
        assert result.output is not None
        assert (result.output["body"], result.steps[0].attempts) == ("there", 4)  # type: ignore[index,call-overload]
        assert time.perf_counter() - began >= 1
        await it.registry.close()
