"""Targets for places and for what an operator keeps: addresses, settings, keys, manifests, queries."""

import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import apsw
import httpx2

from wonder.actions.http.addresses import _literal, permitted, why_refused
from wonder.actions.http_request.outgoing import _read_url
from wonder.app.backup_manifest import parse_manifest
from wonder.cli.settings import FILE_BYTES_MAX, parse_settings
from wonder.cli.tenant_settings import _value
from wonder.definitions.addresses import base_url_of, why_no_address
from wonder.definitions.secret_scopes import host_of, host_of_url, read_host
from wonder.errors import WonderError
from wonder.language.values import encode_json
from wonder.objects.url import parse_objects_url
from wonder.storage.exposure import check_file_system
from wonder.storage.postgresql.backup import _without_password as without_password
from wonder.storage.postgresql.query_syntax import parse_select
from wonder.storage.queries import load_queries
from wonder.storage.querying.answers import checked_text
from wonder.storage.querying.policy import CONTEXT_PREFIXES, FUNCTIONS, TABLES
from wonder.storage.sealing import read_keys
from wonder.storage.secrets import _scope
from wonder.storage.sqlite import query_worker
from wonder.storage.url import PostgresAddress, parse_url

_SECRET: Final = "Zx9-hidden-7Q"  # of nobody
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PUBLIC: Final = ["93.184.216.34"]


def addresses(text: str) -> None:
    """Read an address of HTTP in all the ways that it is read, which have to agree on where it leads."""
    if why_no_address(text) is None:
        base_url_of(text)
        with suppress(httpx2.InvalidURL):
            url = httpx2.URL(text)
            meant = host_of(url.raw_host.decode("ascii"), url.port or _DEFAULT_PORTS[url.scheme])
            judged = host_of_url(text)
            # A scope names hosts in ASCII only, so that any other is refused, wherever it leads.
            assert judged == meant or not judged.name.isascii(), "a secret's scope is held against where a client goes"
    with suppress(WonderError):
        url = _read_url(text, "it")
        _reach(url.raw_host.decode("ascii"), url.port or _DEFAULT_PORTS[url.scheme])
    _reach(text, 443)
    with suppress(WonderError):
        host = read_host(text)
        assert read_host(host) == host, "a host has one form"
    for parse in (parse_url, parse_objects_url):
        with suppress(WonderError):
            parse(text)
        for url in (
            f"postgresql://u:{_SECRET}@{text}",
            f"postgresql://h/d?{text}&password={_SECRET}",
            f"s3://b/p?{text}&secret_access_key={_SECRET}",
        ):
            assert _SECRET not in _said(parse, url), "no password is shown"


def _said(parse: Callable[[str], Any], url: str) -> str:
    """Give what people see of an address: as it is shown, or why it is refused, and what another program is given."""
    try:
        address = parse(url)
    except WonderError as error:
        return str(error)
    return str(address.shown) + (without_password(url)[0] if isinstance(address, PostgresAddress) else "")


def settings(data: bytes, text: str) -> None:
    """Read wonder.toml, the value of a setting, keys, a secret's scope, a backup's manifest, mounts."""
    for read in (
        lambda: parse_settings(data[:FILE_BYTES_MAX]),
        lambda: parse_manifest(data, Path("backup")),
        lambda: read_keys(text, "it"),
        lambda: encode_json(_value(text)),
        lambda: _scope(text),
        lambda: check_file_system(Path("/srv/wonder.db"), text),
    ):
        with suppress(WonderError):
            read()


def queries(text: str) -> None:
    """Run a query on SQLite, and parse it for PostgreSQL: no query reads what is on no list."""
    text = checked_text(text)
    reply = query_worker._run(_REQUEST._replace(sql=text))
    assert _SECRET not in repr(reply), "a query reads what it may"
    query_worker.read(query_worker.written(reply))
    with suppress(WonderError):
        select = parse_select(text)
        again = parse_select(select.text)
        assert again.names == select.names, "what is run is what was judged"


def _reach(host: str, port: int) -> None:
    """See that no address is allowed that is not of the public internet, however it is written."""

    async def resolve(host: str) -> list[str]:
        return _PUBLIC

    with suppress(WonderError):
        allowed = _result(permitted(host, port, allow_private=False, resolve=resolve))
        assert (_literal(host) or allowed[0]) == allowed[0], "an address is its own"
        for address in allowed:
            assert why_refused(address) is None, "what is permitted is not refused"
            assert ip_address(address).is_global, f"{address} is not public"


def _result(coroutine: Coroutine[object, None, list[str]]) -> list[str]:
    """Run what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return list(ended.value)
    raise AssertionError("it has waited")


def _database() -> str:
    """Make a database with one table that may be read, one that may not, and a view of both."""
    path = str(Path(tempfile.mkdtemp(prefix="wonder-fuzz-query-")) / "queried.db")
    connection = apsw.Connection(path)
    connection.execute(f"""
        CREATE TABLE runs (id TEXT, status TEXT, input TEXT);
        INSERT INTO runs VALUES ('r1', 'completed', '{{"a": [1, 2]}}'), ('r2', 'failed', NULL);
        CREATE TABLE secrets (name TEXT, sealed TEXT);
        INSERT INTO secrets VALUES ('key', '{_SECRET}');
        CREATE VIEW run_log AS SELECT id, status FROM runs;
        CREATE VIEW hidden AS SELECT sealed FROM secrets;
    """)
    connection.close()
    return path


_REQUEST: Final = query_worker.Request(
    path=_database(),
    sql="",
    seconds=0.5,
    rows_max=10,
    bytes_max=20_000,
    cell_bytes=16,
    sql_bytes_max=100_000,
    tables=sorted(TABLES),
    prefixes=[*CONTEXT_PREFIXES],
    functions=sorted(FUNCTIONS["sqlite"]),
    names_sql=load_queries("sqlite")["query_names"],
    view_sql=load_queries("sqlite")["query_view_definition"],
)
