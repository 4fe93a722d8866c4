"""`write_artifact`: content in the object store, what it is in the database, held against its type (ACT-6)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.settled import SettledResources
from support.tasks import ORIGIN, Bench, action, bench, step, task, until
from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.protocol import Origin
from wonder.clock import SystemClock
from wonder.definitions.records.resources import ArtifactType
from wonder.executor.results import TaskFailure, TaskResult
from wonder.objects.directory import DirectoryObjects
from wonder.objects.errors import ObjectsUnavailable
from wonder.objects.store import Content, StoredObject, read_whole
from wonder.storage.artifacts import Artifact, artifacts_of_project, load_artifact
from wonder.storage.errors import ConnectionLost
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Store

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


class OneType(SettledResources):
    """Knows one type of artifact, `report`, in two versions of which the run has met the first."""

    async def at_start(self, kind: Any, id: str, origin: Origin) -> Any:
        return await self.definition(kind, id, 1)

    async def definition(self, kind: Any, id: str, version: int) -> Any:
        assert (kind, id) == (ArtifactType, "report")
        schema = SCHEMA if version == 1 else True
        times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
        named = {"id": id, "version": version, "name": id, "project_id": "project", "content_hash": ""}
        return ArtifactType.model_validate({**named, **times, "schema": schema})


class Place:
    """An executor with an object store and a database."""

    def __init__(self, made: Bench, store: Store, artifacts: Artifacts) -> None:
        self.made, self.store, self.artifacts = made, store, artifacts

    async def write(self, mapping: Any, input: Any = None, type: str = "blob") -> Any:
        """Write an artifact that can be written, and give what the action gives."""
        result = await self._run(mapping, input, type)
        assert result.error is None, result.error
        return result.output

    async def refusal(self, mapping: Any, input: Any = None, type: str = "blob") -> TaskFailure:
        """Have an artifact refused."""
        result = await self._run(mapping, input, type)
        assert result.error
        return result.error

    async def _run(self, mapping: Any, input: Any, type: str) -> TaskResult:
        act = action("act", "write_artifact", {"artifact_type_id": type, "content_mapping": mapping})
        return await self.made.run(task(step("act")), input, act)

    async def stored(self, output: Any) -> tuple[bytes, Artifact]:
        """Give the content and the row of what was written."""
        row = await load_artifact(self.store, "project", output["artifact_id"])
        return await read_whole(self.artifacts.objects, row.storage_key, size_max=10**8), row

    async def rows(self) -> list[Artifact]:
        """Give all rows."""
        return (await artifacts_of_project(self.store, "project")).items


@pytest.fixture
async def lease(store: Store) -> AsyncIterator[Lease]:
    """The right to write."""
    taken = await claim_lease(store, "owner")
    assert taken
    yield taken
    await taken.release()


class Early(SystemClock):
    """A clock that shows one time of day."""

    def now_ms(self) -> int:
        """Give it."""
        return 1_234


@pytest.fixture
async def place(store: Store, lease: Lease, tmp_path: Path) -> AsyncIterator[Place]:
    """An executor with an object store and a database."""
    artifacts = Artifacts(DirectoryObjects(tmp_path / "objects"), store, lease, Early())
    async with bench(resources=OneType(workspace={"allow_shell": True}), artifacts=artifacts) as made:
        yield Place(made, store, artifacts)


@pytest.mark.parametrize(
    ("mapping", "content", "content_type", "schema_data"),
    [
        ({"content": "$.text"}, "Grüße".encode(), "text/plain; charset=utf-8", {}),
        (
            {"content": "$.text", "content_type": "text/markdown", "n": "$.n"},
            "Grüße".encode(),
            "text/markdown",
            {"n": 1},
        ),
        ({"content": {"a": "$.n"}, "t": 2}, b'{"a":1}', "application/json", {"t": 2}),
        ({"content": None}, b"null", "application/json", {}),
        (
            {"n": "$.n", "x": {"y": "$.text"}},
            '{"n":1,"x":{"y":"Grüße"}}'.encode(),
            "application/json",
            {"n": 1, "x": {"y": "Grüße"}},
        ),
        ("$.doc", b"inner", "text/plain; charset=utf-8", {"k": True}),
        ({"content": "$.missing", "n": "$.n"}, b'{"n":1}', "application/json", {"n": 1}),
        ({}, b"{}", "application/json", {}),
    ],
)
async def test_act_10_a_mapping_over_the_input_gives_content_and_data(
    place: Place, mapping: Any, content: bytes, content_type: str, schema_data: Any
) -> None:
    output = await place.write(mapping, {"text": "Grüße", "n": 1, "doc": {"content": "inner", "k": True}})
    assert output == {
        "artifact_id": output["artifact_id"],
        "content_type": content_type,
        "size_bytes": len(content),
    }
    found, row = await place.stored(output)
    assert (found, row.content_type, row.size_bytes, row.schema_data) == (
        content,
        content_type,
        len(content),
        schema_data,
    )
    assert (row.run_id, row.node, row.path_id, row.step) == ("run-1", "node", "0.1", "act")
    assert (row.artifact_type_id, row.artifact_type_version, row.created_ms) == ("blob", None, 1_234)


async def test_act_6_data_that_does_not_fit_its_type_is_refused_and_nothing_is_stored(
    place: Place, tmp_path: Path
) -> None:
    error = await place.refusal({"content": "x", "title": "$.n"}, {"n": 5}, "report")
    assert (error.code, error.retryable) == ("ARTIFACT_MISFIT", False)
    assert "'report' (version 1)" in error.message
    assert "title" in error.message
    assert await place.rows() == []
    assert not (tmp_path / "objects").exists()


async def test_act_6_data_that_fits_is_stored_with_the_version_of_its_type(place: Place) -> None:
    _, row = await place.stored(await place.write({"title": "T"}, type="report"))
    assert (row.artifact_type_id, row.artifact_type_version) == ("report", 1)
    _, row = await place.stored(await place.write({"untitled": 1}, type="report@2"))
    assert (row.artifact_type_id, row.artifact_type_version) == ("report", 2)


@pytest.mark.parametrize(
    "content_type", ["", "text", "text/plain\r\nX: y", "a/b;c", 5, None, "x" * 300 + "/y", "text/é"]
)
async def test_act_6_a_content_type_that_could_not_be_sent_is_refused(place: Place, content_type: Any) -> None:
    error = await place.refusal({"content": "x", "content_type": "$.t"}, {"t": content_type})
    assert error.code == "ARTIFACT_MISFIT"
    assert "text/markdown" in error.message


@pytest.mark.parametrize("mapping", ["$", "$.list", [1], "text"])
async def test_act_6_a_mapping_that_gives_no_object_is_refused(place: Place, mapping: Any) -> None:
    error = await place.refusal(mapping, "text" if mapping == "$" else {"list": [1]})
    assert (error.code, "must give an object" in error.message) == ("ARTIFACT_MISFIT", True)


async def test_inv_4_a_step_that_is_run_again_has_one_artifact(place: Place) -> None:
    first = await place.write({"content": "first"})
    second = await place.write({"content": "second"})
    assert first["artifact_id"] == second["artifact_id"]
    assert (await place.stored(second))[0] == b"second"
    assert len(await place.rows()) == 1


async def test_act_6_what_a_task_has_stored_is_told_with_its_step(place: Place) -> None:
    act = action("act", "write_artifact", {"artifact_type_id": "blob", "content_mapping": {"content": "abc"}})
    result = await place.made.run(task(step("act")), None, act)
    stored = result.steps[0].artifacts
    assert stored
    output: Any = result.output
    assert [(one.artifact_id, one.content_type, one.size_bytes) for one in stored] == [
        (output["artifact_id"], "text/plain; charset=utf-8", 3)
    ]


async def test_ret_1_an_object_store_that_can_not_be_reached_may_be_tried_again(place: Place) -> None:
    class Away(DirectoryObjects):
        passing = True

        async def put(self, content: Content, *, size_max: int | None = None) -> StoredObject:
            raise ObjectsUnavailable("there", "it is away", passing=self.passing)

    away = Away(Path("/nowhere"))
    place.artifacts.objects = away
    error = await place.refusal({"content": "x"})
    assert (error.code, error.retryable) == ("OBJECTS_UNAVAILABLE", True)
    away.passing = False
    assert not (await place.refusal({"content": "x"})).retryable
    assert await place.rows() == []


async def test_act_6_a_database_that_is_away_is_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, tries = place.store.commit, 0

    async def away_at_first(*given: Any, **options: Any) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ConnectionLost("it is away")
        await commit(*given, **options)

    monkeypatch.setattr(place.store, "commit", away_at_first)
    await place.write({"content": "x"})
    assert tries == 3
    assert len(await place.rows()) == 1


async def test_inv_5_who_lost_the_lease_stores_no_artifact_and_is_stopped(place: Place, lease: Lease) -> None:
    lost: list[Any] = []
    place.artifacts.on_lost = lost.append
    await lease.release()
    second = await claim_lease(place.store, "second")
    assert second
    error = await place.refusal({"content": "x"})
    assert (error.code, len(lost)) == ("LEASE_LOST", 1)
    assert await place.rows() == []
    await second.release()


async def test_act_7_long_output_of_a_command_goes_to_an_artifact_as_a_whole(place: Place) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' a; echo end; head -c 1500000 /dev/urandom >&2"
    act = action("act", "shell_command", {"command": script, "shell": True})
    result = await place.made.run(task(step("act")), None, act)
    assert result.error is None, result.error
    output: Any = result.output
    assert output["stdout"] == "a" * 1_000_000
    content, row = await place.stored({"artifact_id": output["stdout_artifact_id"]})
    assert content == b"a" * 3_000_000 + b"end\n"
    assert (row.part, row.size_bytes) == ("stdout", 3_000_004)
    content, row = await place.stored({"artifact_id": output["stderr_artifact_id"]})
    assert (row.part, len(content)) == ("stderr", 1_500_000)


async def test_act_7_a_command_that_writes_without_end_is_ended(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("wonder.actions.shell_command.output.TOTAL_MAX", 20_000_000)
    result = await place.made.run(task(step("act")), None, action("act", "shell_command", {"command": ["yes"]}))
    assert result.error
    assert (result.error.code, result.error.details["bytes_max"]) == ("OUTPUT_TOO_LARGE", 20_000_000)
    assert await place.rows() == []
    await until(lambda: not [path for path in (tmp_path / "objects").rglob("*") if path.is_file()])


async def test_act_6_where_nothing_can_be_stored_that_is_told() -> None:
    act = action("act", "write_artifact", {"artifact_type_id": "blob", "content_mapping": {}})
    async with bench() as made:
        result = await made.executor.run(made.compiled(task(step("act")), act), {}, ORIGIN)
    assert result.error
    assert result.error.code == "NO_OBJECT_STORE"
