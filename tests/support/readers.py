"""The ways in which a query reaches a database in tests."""

from wonder.storage.opening import open_store
from wonder.storage.postgresql.reader_role import grant_reader, url_of_role
from wonder.storage.store import Store


async def reader_url(store: Store, url: str) -> str:
    """Give the address for queries: on PostgreSQL that of a role made for them."""
    if store.dialect == "sqlite":
        return url
    reader = await grant_reader(store, new_password=True)
    assert reader.password
    return url_of_role(url, reader.role, reader.password)


async def owner_url(url: str) -> str:
    """Have the tables made by a role that is not a superuser, which owns them, and give its address."""
    plain = url.replace("wonder@", "plain@")
    store = await open_store(plain)
    await store.close()
    return plain
