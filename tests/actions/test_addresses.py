"""Where actions may connect to (ACT-3), with a resolver and sockets of the tests' own: nothing leaves this process."""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

import httpcore2
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.http_requests import Asking
from wonder.actions.http.addresses import AddressRefused, BadHost, permitted, why_refused
from wonder.actions.http.client import GuardedTransport, guarded_client, refusal_in
from wonder.actions.protocol import ActionFailed

PUBLIC = "93.184.215.14"
NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "public.example": [PUBLIC],
    "public6.example": ["2606:2800:21f:cb07::1"],
    "loop.example": ["127.0.0.1"],
    "xn--bcher-kva.example": ["10.1.1.1"],
    "intranet": ["10.0.0.7"],
    "printer.local": ["192.168.1.9"],
    "metadata.google.internal": ["169.254.169.254"],
    "mixed.example": [PUBLIC, "10.0.0.1"],
    "last.example": [*[f"93.184.215.{n}" for n in range(1, 30)], "127.0.0.1"],
    "mapped.example": ["::ffff:10.0.0.1"],
    "garbage.example": ["not an address"],
    "a_b.example": ["192.168.0.1"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "none.example": [],
}


class FakeNetwork(httpcore2.AsyncNetworkBackend):
    """A resolver, and sockets that answer from a script; nothing is sent anywhere."""

    def __init__(self, answers: dict[str, list[bytes]] | None = None) -> None:
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.answers = answers or {}
        self.names = dict(NAMES)
        self.hanging: set[str] = set()
        self.given_up: list[str] = []

    async def resolve(self, host: str) -> list[str]:
        """Give the addresses of a name, and read numbers as the C library does."""
        return self.resolve_blocking(host)

    def resolve_blocking(self, host: str) -> list[str]:
        """Do the same."""
        self.asked.append(host)
        if host in self.names:
            return self.names[host]
        try:
            return [socket.inet_ntoa(socket.inet_aton(host))]
        except OSError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None

    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        """Note where to, and play the script for that address."""
        self.dialled.append((host, port))
        ip_address(host)  # an address and never a name, which would be resolved a second time
        if host in self.hanging:
            try:
                await asyncio.sleep(60)
            finally:
                self.given_up.append(host)
        if host not in self.answers:
            raise httpcore2.ConnectError("nobody is there")
        return httpcore2.AsyncMockStream(list(self.answers[host]))


FORBIDDEN = [
    # plainly
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/",
    "https://127.0.0.1/",
    "http://127.255.255.254/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250:1900/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # IPv4 in other clothes
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7F.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0x0/",
    "http://00000000177.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://127.0.0.01/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0251.0376.0251.0376/",
    "http://10.1/",
    "http://127。0。0。1/",
    "http://127.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    # IPv6
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:80/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:10.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::8.8.8.8]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::8.8.8.8]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[2001:2::1]/",
    "http://[100::1]/",
    "http://[5f00::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[4000::1]/",
    "http://[::ffff:127.0.0.1%25lo]/",
    "http://[v1.127.0.0.1]/",
    "http://[127.0.0.1]/",
    # names
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://ip6-localhost/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://loop.example/",
    "http://bücher.example/",
    "http://intranet/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://mixed.example/",
    "http://last.example/",
    "http://mapped.example/",
    "http://garbage.example/",
    "http://a_b.example/",
    "http://127.0.0.1.nip.example/",
    # who is the host here?
    "http://public.example@127.0.0.1/",
    "http://public.example:80@127.0.0.1/",
    "http://public.example%2f@127.0.0.1/",
    "http://127.0.0.1\\@public.example/",
    "http://public.example\\@127.0.0.1/",
    "http://public.example@public.example@127.0.0.1/",
    "http://127.0.0.1#@public.example/",
    "http://127.0.0.1?@public.example/",
    "http://127.0.0.1:80#public.example/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:///127.0.0.1/",
    "http://///127.0.0.1/",
    "http://\t127.0.0.1/",
    "http://127.0.0.1 public.example/",
    "http://public.example 127.0.0.1/",
    "http://127.0.0.1:80:80/",
    "http://127.0.0.1\x00.public.example/",
    "http://public.example\r\nHost: 127.0.0.1/",
    "http://*/",
    "http://a..b/",
    "http://-/",
    "http://public.example:0/",
    "http://public.example:65536/",
    "http://public.example:-1/",
    # not HTTP
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "ws://127.0.0.1/",
    "javascript:alert(1)",
    "//127.0.0.1/",
    "127.0.0.1",
    " ",
]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    """A network for all actions of this test."""
    fake = FakeNetwork()
    monkeypatch.setattr("wonder.actions.http.addresses.resolve_blocking", fake.resolve_blocking)
    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", lambda self, *args, **kw: fake.connect_tcp(*args, **kw))
    return fake


def test_the_table_has_enough_spellings() -> None:
    assert len(set(FORBIDDEN)) >= 100


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_act_3_no_spelling_of_a_private_address_is_reached(url: str, network: FakeNetwork) -> None:
    """Whether it stands in the definition or comes out of a value, which is the most that an author can leave open."""
    async with Asking(allow_private=False) as asking:
        with pytest.raises(ActionFailed) as refused:
            await asking.ask(url)
        with pytest.raises(ActionFailed) as refused_too:
            await asking.ask("{{url}}", {"url": url})
    assert refused_too.value.code in (refused.value.code, "BAD_URL")
    expected = {"ADDRESS_REFUSED", "BAD_URL"}
    # Nobody knows such a name; with a resolver that does, its address would be judged.
    assert refused.value.code in (
        expected | {"CONNECTION_FAILED"} if url in ("http://a..b/", "http://-/") else expected
    )
    assert network.dialled == []


@pytest.mark.parametrize("url", [url for url in FORBIDDEN if url.startswith("http")])
async def test_a_clients_own_requests_are_guarded_in_the_same_way(url: str) -> None:
    """The SDKs of models and MCP servers hand their addresses to httpx2 as they are."""
    network = FakeNetwork()
    transport = GuardedTransport(allow_private=False, resolve=network.resolve, dial=network)
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
        if (host := _host_of(url)) in (
            "public.example",
            "",
        ):  # one reader: never two hosts at once
            return
        with pytest.raises((ActionFailed, httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.ConnectError)):
            await client.get(url)
    assert network.dialled == [], host


def _host_of(url: str) -> str | None:
    try:
        return httpx2.URL(url).host
    except httpx2.InvalidURL:
        return None


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://public.example/", PUBLIC),
        (f"http://{PUBLIC}/", PUBLIC),
        ("http://8.8.8.8/", "8.8.8.8"),
        ("http://134744072/", "8.8.8.8"),
        ("http://public6.example/", "2606:2800:21f:cb07::1"),
        ("http://[2606:2800:21f:cb07::1]/", "2606:2800:21f:cb07::1"),
        ("http://[64:ff9b::8.8.8.8]/", "64:ff9b::808:808"),
        ("http://[::ffff:8.8.8.8]/", "::ffff:808:808"),
        ("http://172.32.0.1/", "172.32.0.1"),
        ("http://100.128.0.1/", "100.128.0.1"),
        ("http://11.0.0.1:8080/", "11.0.0.1"),
        ("http://user:password@public.example/", PUBLIC),
    ],
)
async def test_public_addresses_are_connected_to_by_address(url: str, address: str, network: FakeNetwork) -> None:
    network.answers = {address: [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1"]}
    async with Asking(allow_private=False) as asking:
        assert (await asking.ask("{{url}}", {"url": url}))["body"] == 1
    assert network.dialled == [(address, 8080 if "8080" in url else 80)]


async def test_act_3_private_addresses_are_reached_where_the_workspace_allows_them(network: FakeNetwork) -> None:
    network.answers = {"127.0.0.1": [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1"]}
    async with Asking(allow_private=True) as asking:
        assert (await asking.ask("http://localhost:81/"))["body"] == 1
    assert network.dialled[0] == ("127.0.0.1", 81)


async def test_a_refusal_says_what_the_host_is_and_what_can_be_done(network: FakeNetwork) -> None:
    async with Asking(allow_private=False) as asking:
        with pytest.raises(ActionFailed) as refused:
            await asking.ask("http://intranet/")
    assert str(refused.value) == (
        "GET http://intranet/ failed: intranet is 10.0.0.7, a private network, which no action may reach; use a public "
        "address, or allow such ones in the workspace: wonder workspace set allow_private_addresses true"
    )
    assert refused.value.details == {"host": "intranet", "address": "10.0.0.7", "reason": "a private network"}
    assert not refused.value.retryable


async def test_a_refusal_says_where_a_wrapped_address_leads_to() -> None:
    assert why_refused("64:ff9b::a00:1") == "a way to 10.0.0.1, a private network"
    assert why_refused("2002:7f00:1::") == "a way to 127.0.0.1, this machine itself"


async def test_a_name_that_changes_its_answer_gains_nothing(
    network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: it is resolved once per connection, and the connection goes to the address that was checked."""
    network.answers = {PUBLIC: [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n1"]}
    turns = [[PUBLIC], ["127.0.0.1"]]
    monkeypatch.setattr("wonder.actions.http.addresses.resolve_blocking", lambda host: turns.pop(0))
    async with Asking(allow_private=False) as asking:
        assert (await asking.ask("http://rebinding.example/"))["body"] == 1
        assert (network.dialled, len(turns)) == ([(PUBLIC, 80)], 1)
        with pytest.raises(ActionFailed, match=r"rebinding.example is 127.0.0.1, this machine itself"):
            await asking.ask("http://rebinding.example/")
    assert network.dialled == [(PUBLIC, 80)]


async def test_the_host_is_told_to_the_server_as_it_was_written() -> None:
    """The address is only for the connection: virtual hosts and certificates go by the name."""
    sent: list[bytes] = []
    network = FakeNetwork({PUBLIC: [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]})

    class Listening(httpcore2.AsyncMockStream):
        async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
            sent.append(buffer)

        async def start_tls(self, *_: Any, server_hostname: str | None = None, **__: Any) -> Any:
            sent.append(f"SNI {server_hostname}".encode())
            return self

    async def connect(host: str, port: int, *_: Any, **__: Any) -> Any:
        network.dialled.append((host, port))
        return Listening(list(network.answers[host]))

    network.connect_tcp = connect  # type: ignore[method-assign]
    transport = GuardedTransport(allow_private=False, resolve=network.resolve, dial=network)
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("https://public.example/path")
    assert network.dialled == [(PUBLIC, 443)]
    assert sent[0] == b"SNI public.example"
    assert b"Host: public.example\r\n" in sent[1]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/admin",
        "http://localhost:6379/",
        "//127.0.0.1/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "http://public.example@10.0.0.1/",
        "https://169.254.169.254/",
        "http://mixed.example/",
    ],
)
async def test_each_redirect_is_checked(location: str, network: FakeNetwork) -> None:
    network.answers = {PUBLIC: [f"HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n".encode()]}
    async with Asking(allow_private=False) as asking:
        with pytest.raises(ActionFailed) as refused:
            await asking.ask("http://public.example/")
    assert refused.value.code == "ADDRESS_REFUSED"
    assert network.dialled == [(PUBLIC, 80)]


async def test_a_clients_redirects_are_checked_too_and_its_refusal_can_be_found() -> None:
    network = FakeNetwork({PUBLIC: [b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n"]})
    transport = GuardedTransport(allow_private=False, resolve=network.resolve, dial=network)
    async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as client:
        with pytest.raises(AddressRefused) as refused:
            await client.get("http://public.example/")
    wrapped = RuntimeError("as an SDK wraps it")
    wrapped.__cause__ = refused.value
    assert refusal_in(wrapped) is refused.value
    assert refusal_in(ExceptionGroup("several", [ValueError(), wrapped])) is refused.value
    assert network.dialled == [(PUBLIC, 80)]
    assert refusal_in(ValueError()) is None


async def test_no_request_leads_to_a_socket_of_this_machine_or_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of proxies counts for nothing: a proxy would connect on its own."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with guarded_client(allow_private=False) as client:
        assert client._mounts == {}
        with pytest.raises(AddressRefused):
            await client.get("http://127.0.0.1:9/")
    backend = GuardedTransport(allow_private=True)._pool._network_backend
    with pytest.raises(AddressRefused):
        await backend.connect_unix_socket("/var/run/docker.sock")


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    network = FakeNetwork({"8.8.4.4": [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]})
    network.names["two.example"] = ["2606:2800:21f:cb07::1", "8.8.8.8", "8.8.4.4"]
    transport = GuardedTransport(allow_private=False, resolve=network.resolve, dial=network)
    async with httpx2.AsyncClient(transport=transport) as client:
        assert (await client.get("http://two.example/")).status_code == 200
    assert [address for address, _ in network.dialled] == ["2606:2800:21f:cb07::1", "8.8.8.8", "8.8.4.4"]


async def test_an_address_that_hangs_keeps_nobody_waiting_and_is_given_up() -> None:
    network = FakeNetwork({"8.8.4.4": [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]})
    network.names["two.example"] = ["8.8.8.8", "8.8.4.4"]
    network.hanging = {"8.8.8.8"}
    transport = GuardedTransport(allow_private=False, resolve=network.resolve, dial=network)
    async with httpx2.AsyncClient(transport=transport, timeout=httpx2.Timeout(5, connect=0.4)) as client:
        assert (await client.get("http://two.example/")).status_code == 200
        assert network.given_up == ["8.8.8.8"]
        network.hanging = {"8.8.8.8", "8.8.4.4"}
        transport._pool._connections.clear()
        with pytest.raises(httpx2.ConnectTimeout, match=r"two\.example did not answer"):
            await client.get("http://two.example/")
    assert sorted(network.given_up[1:]) == ["8.8.4.4", "8.8.8.8"]


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_whatever_python_calls_private_is_refused_and_so_is_each_form_of_it_in_ipv6(address: IPv4Address) -> None:
    if not address.is_global:
        assert why_refused(str(address))
    number = int(address)
    forms: Iterable[int] = (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | 1)
    for form in forms:
        assert bool(why_refused(str(IPv6Address(form)))) == bool(why_refused(str(address)))
    for form in (number, 0xFFFF << 48 | number, 0x64FF9B0001 << 80 | number):
        assert why_refused(str(IPv6Address(form)))


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_of_ipv6_only_what_is_public_is_let_through(address: IPv6Address) -> None:
    if why_refused(str(address)) is None:
        assert address in IPv6Network("2000::/3") or address.ipv4_mapped or address in IPv6Network("64:ff9b::/96")


async def test_a_host_is_a_name_or_an_address() -> None:
    network = FakeNetwork()
    for host in ("", "a b", "a%2eb", "a/b", "a@b", "x" * 254, "ä", "a\n", ".", "-a"):
        with pytest.raises(BadHost):
            await permitted(host, 80, allow_private=True, resolve=network.resolve)
    assert network.asked == []
