"""Which store of vectors goes with a database."""

from wonder.objects.vectors import Vectors
from wonder.storage.store import Store
from wonder.storage.url import SqliteAddress, parse_url


def vectors_of(database_url: str, store: Store) -> Vectors:
    """Give the vectors of a database: in its tables on PostgreSQL, in a file beside it on SQLite.

    That file is the database's own, as in orders.db and orders.db-vectors: what no index has is removed from it.
    """
    address = parse_url(database_url)
    if isinstance(address, SqliteAddress):
        # A process needs one of the two.
        from wonder.objects.vectors_sqlite import SqliteVectors

        return SqliteVectors(address.path.with_name(f"{address.path.name}-vectors"))
    # As above.
    from wonder.objects.vectors_postgres import PostgresVectors

    return PostgresVectors(store)
