"""Numbered migrations: forward only, none half applied, safe when several processes begin at once."""

import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from msgspec import Struct

from wonder.errors import WonderError
from wonder.storage.clock import utc_now
from wonder.storage.errors import DatabaseNewer, MigrationChanged, MigrationFailed
from wonder.storage.postgresql.reader_role import grant_to_readers
from wonder.storage.store import Dialect, Reader, Store, Transaction, UtcNow

_FILE = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema; its text never changes once it has landed."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The fingerprint that is stored with an applied migration."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


class AppliedMigration(Struct, frozen=True):
    """A migration as the database remembers it."""

    number: int
    name: str
    sha256: str
    applied_at: str
    wonder_version: str


def _ignore() -> None:
    pass


@cache
def known_migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """Read the migrations that this Wonder ships, in order."""
    folder = files("wonder.storage") / dialect / "migrations"
    matches = [match for file in folder.iterdir() if (match := _FILE.fullmatch(file.name))]
    found = [
        Migration(int(match["number"]), match["name"], (folder / match[0]).read_text("utf-8")) for match in matches
    ]
    found.sort(key=lambda migration: migration.number)
    assert [migration.number for migration in found] == list(range(1, len(found) + 1)), "migrations are not 1, 2, 3 …"
    return tuple(found)


async def applied_migrations(reader: Reader) -> list[AppliedMigration]:
    """Read which migrations the database has, in order; none if it was never migrated."""
    if not await reader.fetch("table_exists", "schema_migrations"):
        return []
    return [AppliedMigration(*row) for row in await reader.fetch("applied_migrations")]  # type: ignore[arg-type]  # the columns are NOT NULL and typed


async def pending_migrations(store: Store) -> list[Migration]:
    """Tell which migrations the database lacks; raises when it is newer than we are, or not ours."""
    return _pending(store, await applied_migrations(store))


async def migrate(store: Store, *, clock: UtcNow = utc_now, on_begin: Callable[[], None] = _ignore) -> list[Migration]:
    """Apply what is missing and return it; another process doing the same is waited for.

    `on_begin` is called in the moment when the database begins to work on it, which takes some time.
    """
    done: list[Migration] = []
    # Looking first costs no lock, and most of the time there is nothing to do.
    missing = await pending_migrations(store)
    while missing:
        applied, missing = await _apply_next(store, clock, on_begin)
        done += applied
    return done


async def _apply_next(
    store: Store, clock: UtcNow, on_begin: Callable[[], None]
) -> tuple[list[Migration], list[Migration]]:
    """Apply the next one; to a new database all, so that there is no moment when it has some of them.

    Gives what was applied, and what is missing still.
    """
    try:
        return await _apply(store, clock, on_begin)
    except MigrationFailed:
        # Only one by one do they tell which of them it was.
        return await _apply(store, clock, on_begin, at_once=False)


async def _apply(
    store: Store, clock: UtcNow, on_begin: Callable[[], None], *, at_once: bool = True
) -> tuple[list[Migration], list[Migration]]:
    async with store.transaction() as transaction:
        await transaction.fetch("lock_migrations")
        # Looked at again under the lock: the process that had it before us may have done our work.
        applied = await applied_migrations(transaction)
        missing = _pending(store, applied)
        migrations = missing[: 1 if applied else None]
        on_begin()
        # Sent as one text they are one trip to the server, which takes a tenth of a second for a whole schema.
        for portion in [migrations] if at_once and migrations else [[one] for one in migrations]:
            try:
                await transaction.run("\n".join(one.sql for one in portion))
            except WonderError:
                raise
            except Exception as error:
                raise MigrationFailed(store.address, portion[0].number, portion[0].name, str(error)) from error
        if applied and store.dialect == "sqlite":
            await _renew_views(transaction, migrations)
        rows = [(one.number, one.name, one.sha256, clock(), _version()) for one in migrations]
        await transaction.execute_many("record_migration", rows)
        if applied and store.dialect == "postgresql":
            # A view that was made anew has lost what it granted.
            await grant_to_readers(transaction)
        return migrations, missing[len(migrations) :]


async def _renew_views(transaction: Transaction, migrations: list[Migration]) -> None:
    # Imported when an old database is migrated: it loads all records.
    from wonder.storage.renewing import MIGRATION, renew_context_views

    if any(one.name == MIGRATION for one in migrations):
        await renew_context_views(transaction, "sqlite")


@cache
def _version() -> str:
    # Imported when something is migrated: it takes longer than all the rest here. Looked up once, because it stands in
    # a file among those of all packages.
    from importlib import metadata

    return metadata.version("wonder-workflows")


def _pending(store: Store, applied: list[AppliedMigration]) -> list[Migration]:
    known = known_migrations(store.dialect)
    if applied and applied[-1].number > len(known):
        raise DatabaseNewer(store.address, applied[-1].number, len(known))
    for expected, found in zip(known, applied, strict=False):
        if found.number != expected.number or found.name != expected.name:
            shipped = f"is not the one that this Wonder ships ({expected.number:04} {expected.name!r})"
            raise MigrationChanged(store.address, found.number, found.name, shipped)
        if found.sha256 != expected.sha256:
            raise MigrationChanged(store.address, found.number, found.name, "was applied with another text")
    return list(known[len(applied) :])
