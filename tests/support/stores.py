"""Databases for tests: copied from a template, and on PostgreSQL emptied and used again."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from support.postgres import PostgresServer, PostgresUnavailable
from wonder.storage.migrate import known_migrations
from wonder.storage.store import Store


def migrated_template(server: PostgresServer) -> str:
    """Make a PostgreSQL database with all migrations applied and return its name.

    The migrations are applied through psql, because a session's fixture has no event loop; tests/storage shows that the
    real way of applying them gives the same.
    """
    name = server.create_database()
    for migration in known_migrations("postgresql"):
        server.run(migration.sql, name)
        fingerprint = hashlib.sha256(migration.sql.encode()).hexdigest()
        row = f"{migration.number}, '{migration.name}', '{fingerprint}', '2026-01-01T00:00:00.000000Z', 'test'"
        server.run(f"INSERT INTO schema_migrations VALUES ({row})", name)
    return name


# What a test has made is dropped, and what it has written is removed; `schema_migrations` stays as it is.
_EMPTY = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
-- Without foreign keys, which would have each row looked for in other tables.
SET session_replication_role = replica;
DO $$
DECLARE
    written regclass;
    made record;
BEGIN
    FOR made IN
        SELECT oid::regclass AS name, CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind
        FROM pg_class WHERE oid > {newest} AND relkind IN ('r', 'v') AND relpersistence = 'p'
        ORDER BY relkind DESC, oid
    LOOP
        EXECUTE format('DROP %s IF EXISTS %s CASCADE', made.kind, made.name);
    END LOOP;
    -- Not TRUNCATE, which makes new files for each table and its indexes.
    FOR written IN
        SELECT oid FROM pg_class WHERE relkind = 'r' AND oid BETWEEN 16384 AND {newest} AND pg_relation_size(oid) > 0
            AND relname <> 'schema_migrations'
    LOOP
        EXECUTE format('DELETE FROM %s', written);
    END LOOP;
END $$;
"""
# All that a test could have changed beside rows: a database in which it differs is not used again.
_STRUCTURE = """
SELECT md5(concat_ws(';',
    (SELECT string_agg(concat_ws(',', oid, relname, relnamespace, relkind, relacl, reloptions, relrowsecurity), ' '
        ORDER BY oid) FROM pg_class WHERE oid >= 16384),
    (SELECT string_agg(concat_ws(',', attrelid, attname, atttypid, attnotnull, attisdropped, attacl), ' '
        ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384),
    (SELECT string_agg(concat_ws(',', oid, convalidated), ' ' ORDER BY oid) FROM pg_constraint WHERE oid >= 16384),
    (SELECT string_agg(concat_ws(',', oid, tgenabled), ' ' ORDER BY oid) FROM pg_trigger WHERE oid >= 16384),
    (SELECT string_agg(concat_ws(',', oid, proname, prosrc), ' ' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
    (SELECT string_agg(concat_ws(',', oid, nspname, nspacl), ' ' ORDER BY oid) FROM pg_namespace),
    (SELECT string_agg(concat_ws(',', setrole, setconfig), ' ') FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())),
    (SELECT datacl FROM pg_database WHERE datname = current_database()),
    (SELECT count(*) FROM pg_default_acl), (SELECT count(*) FROM pg_policy), (SELECT count(*) FROM pg_extension),
    (SELECT count(*) FROM pg_event_trigger), (SELECT count(*) FROM pg_type WHERE oid >= 16384),
    (SELECT string_agg(concat_ws(',', m), ' ' ORDER BY m.number) FROM schema_migrations m)))
"""
# A catalog that nobody vacuums grows with every use.
_USES = 40


class CopiedDatabases:
    """Copies of a PostgreSQL database, each for one test at a time."""

    def __init__(self, server: PostgresServer, template: str) -> None:
        self._server, self._template = server, template
        self._newest = server.run("SELECT max(oid) FROM pg_class", template)
        self._structure = server.run(_STRUCTURE, template)
        self._free: list[tuple[str, int]] = []
        """Their names, with how often each was used."""

    @contextmanager
    def one(self) -> Iterator[str]:
        """Give the address of an empty database; afterwards it is emptied, or dropped where it is no longer alike."""
        name, uses = self._free.pop() if self._free else (self._server.create_database(template=self._template), 0)
        yield self._server.url(name)
        if uses < _USES and self._empty(name) == self._structure:
            self._free.append((name, uses + 1))
        else:
            self._server.drop_database(name)

    def _empty(self, name: str) -> str | None:
        try:
            printed = self._server.run(_EMPTY.format(newest=self._newest) + _STRUCTURE, name)
        except PostgresUnavailable:
            return None
        return printed.splitlines()[-1]


def remove_sqlite_files(path: Path) -> None:
    """Remove a database file with its log, which would otherwise stay until the temporary folder goes."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for left in path.parent.glob(f"{path.name}-facts-*"):
        left.unlink()


def in_views(store: Store, moment: str) -> str | datetime:
    """Give a time as the views for people have it: PostgreSQL has a type for it."""
    return moment if store.dialect == "sqlite" else datetime.fromisoformat(moment)
