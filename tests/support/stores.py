"""Databases for tests: copied from a template on PostgreSQL, made new on SQLite."""

import hashlib
from pathlib import Path

from support.postgres import PostgresServer
from wonder.storage.migrate import known_migrations


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


def remove_sqlite_files(path: Path) -> None:
    """Remove a database file with its log, which would otherwise stay until the temporary folder goes."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for left in path.parent.glob(f"{path.name}-facts-*"):
        left.unlink()
