"""Artifacts as they are stored: by run and project, each with the id that its place gives it (ACT-6)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.stores import in_views
from wonder.storage.artifacts import Artifact, artifact_id, artifacts_of_project, load_artifact, put_artifact
from wonder.storage.errors import LeaseLost
from wonder.storage.resource_errors import BadCursor, NotFound
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Store

TOKEN = "01K9ZZZZZZ0123456789ABCDEF"


@pytest.fixture
async def lease(store: Store) -> AsyncIterator[Lease]:
    """The right to write."""
    taken = await claim_lease(store, "owner")
    assert taken
    yield taken
    await taken.release()


def artifact(part: str = "content", **fields: Any) -> Artifact:
    """An artifact of a run."""
    given: dict[str, Any] = {
        "id": artifact_id("run", TOKEN, "step", part),
        "project_id": "project",
        "run_id": "run",
        "token_id": TOKEN,
        "node": "node",
        "path_id": "0",
        "step": "step",
        "part": part,
        "artifact_type_id": "blob",
        "artifact_type_version": None,
        "storage_key": "sha256/00/" + "0" * 64,
        "content_type": "text/plain",
        "size_bytes": 5_000_000_000,
        "schema_data": {"é": [None, 1.5, 10**30], "a": {}},
        "created_ms": 1_000,
    }
    return Artifact(**{**given, **fields})


def test_inv_4_an_id_is_a_ulid_of_its_place_and_the_time_of_its_token() -> None:
    id = artifact_id("run", TOKEN, "step", "part")
    assert id == artifact_id("run", TOKEN, "step", "part")
    assert len(id) == 26
    assert id[:10] == TOKEN[:10]
    assert set(id) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    places = [
        ("run", TOKEN, "step", "part"),
        ("run2", TOKEN, "step", "part"),
        ("run", TOKEN[:-1] + "0", "step", "part"),
    ]
    places += [("run", TOKEN, "step2", "part"), ("run", TOKEN, "step", "part2"), ("run", TOKEN, "steppart", "")]
    assert len({artifact_id(*place) for place in places}) == len(places)
    assert len(artifact_id("run", "no ulid", "\ud800", "")) == 26


async def test_act_6_an_artifact_is_read_as_it_was_written(store: Store, lease: Lease) -> None:
    written = artifact()
    await put_artifact(store, lease, written)
    assert await load_artifact(store, "project", written.id) == written


async def test_inv_7_an_artifact_of_another_project_is_not_there(store: Store, lease: Lease) -> None:
    await put_artifact(store, lease, artifact())
    for project, id in (("other", artifact().id), ("project", "01K9")):
        with pytest.raises(NotFound):
            await load_artifact(store, project, id)


async def test_inv_4_what_the_same_step_writes_again_replaces_what_it_wrote(store: Store, lease: Lease) -> None:
    await put_artifact(store, lease, artifact())
    again = artifact(size_bytes=7, schema_data=[], storage_key="other", created_ms=2_000, artifact_type_version=2)
    await put_artifact(store, lease, again)
    await put_artifact(store, lease, artifact("stderr"))
    page = await artifacts_of_project(store, "project")
    assert sorted(page.items, key=lambda one: one.part) == [again, artifact("stderr")]


async def test_inv_5_who_lost_the_lease_can_write_nothing(store: Store, lease: Lease) -> None:
    await lease.release()
    second = await claim_lease(store, "second")
    assert second
    with pytest.raises(LeaseLost):
        await put_artifact(store, lease, artifact())
    assert (await artifacts_of_project(store, "project")).items == []
    await second.release()


async def test_act_6_a_projects_artifacts_are_listed_newest_first_page_by_page(store: Store, lease: Lease) -> None:
    ids = [f"01K9{number}" for number in range(5)]
    for id in ids:
        await put_artifact(store, lease, artifact(id=id))
    await put_artifact(store, lease, artifact(id="01K99", project_id="other"))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await artifacts_of_project(store, "project", limit=2, cursor=cursor)
        seen += [one.id for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ids[::-1]
    with pytest.raises(BadCursor):
        await artifacts_of_project(store, "project", cursor="x")


async def test_act_6_artifacts_can_be_asked_for_with_sql(store: Store, lease: Lease) -> None:
    await put_artifact(store, lease, artifact(created_ms=1_700_000_000_123, schema_data={"title": "Report"}))
    columns = "artifact_type, workflow_run_id, node, schema_data ->> 'title', size_bytes, created_at"
    rows = await store.query(f"SELECT {columns} FROM artifact_log")
    assert rows == [("blob", "run", "node", "Report", 5_000_000_000, in_views(store, "2023-11-14T22:13:20.123Z"))]
