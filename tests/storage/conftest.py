"""What tests of SQLite's journal share: an owner whose entries do not depend on how fast this machine is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.journals import CREATE, Owner
from wonder.storage.sqlite import commits as sqlite_commits


@pytest.fixture
async def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Owner]:
    """Who holds the lease of a new database, with a commit just made, upon which entries follow."""
    monkeypatch.setattr(sqlite_commits, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0)
    first = await Owner.of(tmp_path / "app.db", "first")
    async with first.store.transaction() as transaction:
        await transaction.run(CREATE)
    await first.settle(0)
    yield first
    await first.close()
