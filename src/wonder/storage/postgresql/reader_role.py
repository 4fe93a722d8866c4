"""The role that queries run as on PostgreSQL: it can log in and read what queries may, and nothing else."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote as quote_url
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from wonder.context.names import quote, quote_text, whole_name
from wonder.errors import WonderError
from wonder.storage.querying.policy import is_readable
from wonder.storage.store import Store, Transaction

CONNECTIONS_MAX: Final = 20
_STATEMENT_SECONDS: Final = 300
_TEMPORARY_FILES: Final = "1GB"
_ITERATIONS: Final = 4096  # as PostgreSQL does it


class ReaderNotPossible(WonderError):
    """A reader can't be made, or would be more than a reader."""

    code = "READER_NOT_POSSIBLE"


class GrantedReader(Struct, frozen=True):
    """A role that can read: its tables and views, and its password if it got one now."""

    role: str
    is_new: bool
    tables: list[str]
    password: str | None


async def grant_reader(store: Store, role: str | None = None, *, new_password: bool = False) -> GrantedReader:
    """Make the role if it is not there, and grant it exactly what queries may read; doing it again is harmless."""
    if store.dialect != "postgresql":
        raise ReaderNotPossible("SQLite has no roles, and `wonder query` needs none there; use it as it is")
    async with store.transaction() as transaction:
        [(*place, is_superuser)] = await transaction.fetch("reader_place")
        database, schema = map(str, place)
        name = role or whole_name(f"wonder_reader_{database}" + ("" if schema == "public" else f"_{schema}"))
        existing = await transaction.fetch("reader_role", name)
        if existing and existing[0][0]:
            raise ReaderNotPossible(
                f"the role {name!r} exists and can do more than read; choose another name with --role"
            )
        password = secrets.token_urlsafe(24) if new_password or not existing else None
        await transaction.run(_role_statements(name, database, schema, password, bool(existing), bool(is_superuser)))
        tables = await _readable(transaction)
        revoked = f"REVOKE ALL ON ALL TABLES IN SCHEMA {quote(schema)} FROM {quote(name)}"
        await transaction.run(f"{revoked}; {_grant(tables, name)}")
        if excess := [
            f"{privilege!s} on {table!s}"
            for table, privilege in await transaction.fetch("reader_excess", name)
            if table not in tables or privilege != "SELECT"
        ]:
            raise ReaderNotPossible(
                f"the role {name!r} would have {excess[0]}, which everybody has in this database; "
                f"revoke it first: REVOKE ALL ON ALL TABLES IN SCHEMA {quote(schema)} FROM PUBLIC"
            )
    return GrantedReader(name, not existing, tables, password)


async def grant_to_readers(transaction: Transaction, tables: Sequence[str] | None = None) -> None:
    """Let the readers that there are read new tables; without names, all that queries may read."""
    readers = [str(role) for (role,) in await transaction.fetch("readers")]
    if not readers:
        return
    names = await _readable(transaction) if tables is None else tables
    for role in readers:
        await transaction.run(_grant(names, role))


def url_of_role(url: str, role: str, password: str) -> str:
    """Write the URL of a database for another role."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote_url(role, safe='')}:{quote_url(password, safe='')}@{host}"))


async def _readable(transaction: Transaction) -> list[str]:
    [(_, schema, _)] = await transaction.fetch("reader_place")
    return [str(name) for name, _ in await transaction.fetch("query_tables", schema) if is_readable(str(name))]


def _grant(tables: Sequence[str], role: str) -> str:
    return f"GRANT SELECT ON {', '.join(map(quote, tables))} TO {quote(role)}"


def _role_statements(
    role: str, database: str, schema: str, password: str | None, exists: bool, is_superuser: bool
) -> str:
    name, secret = quote(role), f" PASSWORD {quote_text(_verifier(password))}" if password else ""
    made = "ALTER" if exists else "CREATE"
    statements = [
        f"{made} ROLE {name} LOGIN CONNECTION LIMIT {CONNECTIONS_MAX}{secret}",
        f"GRANT CONNECT ON DATABASE {quote(database)} TO {name}",
        f"GRANT USAGE ON SCHEMA {quote(schema)} TO {name}",
        # For uses of the role with other programs, which can set them differently, and Wonder sets its own.
        f"ALTER ROLE {name} SET default_transaction_read_only = on",
        f"ALTER ROLE {name} SET statement_timeout = {quote_text(f'{_STATEMENT_SECONDS}s')}",
        f"ALTER ROLE {name} IN DATABASE {quote(database)} SET search_path = {quote(schema)}",
    ]
    if is_superuser:  # nobody else may set this
        statements.append(f"ALTER ROLE {name} SET temp_file_limit = {quote_text(_TEMPORARY_FILES)}")
    return "; ".join(statements)


def _verifier(password: str) -> str:
    """Make of a password what PostgreSQL keeps of it: a statement may be written to the server's log."""
    return scram_verifier(password, secrets.token_bytes(16))


def scram_verifier(password: str, salt: bytes) -> str:
    """Hash an ASCII password for SCRAM-SHA-256 (RFC 5802, RFC 7677)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored_text, server_text = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"SCRAM-SHA-256${_ITERATIONS}:{salt_text}${stored_text}:{server_text}"
