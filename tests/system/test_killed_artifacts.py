"""Real processes, killed while artifacts are written: there is never a row without its content (ACT-6)."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from support.nursery import Nursery, last_told
from support.systems import assert_sound, never_quarantine
from wonder.objects.directory import DirectoryObjects
from wonder.objects.store import read_whole
from wonder.storage.artifacts import Artifact, artifacts_of_project
from wonder.storage.opening import open_store


@pytest.mark.parametrize(
    "moments",
    [
        ["begun 1"],
        ["written 1", "written 1"],
        ["durable 1"],  # the content is on the disk, and has no key
        ["kept 1"],  # it has its key, and no row says so
        ["kept 1", "before:put_artifact 2"],
        ["before:put_artifact 1"],
        ["during:put_artifact 2"],
        ["after:put_artifact 1"],  # there is a row, and the run does not know of it
        ["after:put_artifact 2", "after:put_artifact 1", "before:put_artifact 1", "before 2"],
    ],
    ids=" then ".join,
)
async def test_act_6_there_is_never_a_row_without_its_content_whenever_a_process_is_killed(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str]
) -> None:
    """ACT-6, INV-4: nor are there two for what was written twice."""
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    for moment in moments:
        status = nursery.run(printed, "artifacts", store_url, str(tmp_path), *moment.split())
        assert status == -signal.SIGKILL, printed.read_text()
        await whole_artifacts(store_url, tmp_path)
    assert nursery.run(printed, "artifacts", store_url, str(tmp_path), "never", "0") == 0, printed.read_text()
    artifacts = await whole_artifacts(store_url, tmp_path)
    told = last_told(printed.read_text().splitlines())
    assert sorted(artifact.id for artifact in artifacts) == sorted(told["ids"])
    data: list[Any] = [artifact.schema_data for artifact in artifacts]
    assert sorted(one["n"] for one in data) == [0, 1, 2]
    await assert_sound(store_url)


async def whole_artifacts(url: str, folder: Path) -> list[Artifact]:
    """Give all artifacts, each of which has its content."""
    store = await open_store(url)
    try:
        ((project_id,),) = await store.query("SELECT id FROM projects")
        artifacts = (await artifacts_of_project(store, str(project_id))).items
    finally:
        await store.close()
    objects = DirectoryObjects(folder / "objects")
    for artifact in artifacts:
        content = await read_whole(objects, artifact.storage_key, size_max=10**6)
        assert json.loads(content) == artifact.schema_data
    return artifacts
