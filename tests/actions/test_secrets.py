"""Secrets for actions: given when asked for, and redacted in all that a task shows from then on (INV-8)."""

import base64
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.tasks import Bench, action, bench, step, task
from wonder.actions.artifacts.redacted import redacted_stream
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.resources import Resources, SecretMissing
from wonder.actions.secrets.stored import StoredSecrets
from wonder.app.ids import new_ulid
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.secret_scopes import Destination, SecretScope
from wonder.engine.events import ARTIFACT_WRITTEN
from wonder.executor.results import TaskResult
from wonder.language.redaction import Redactor
from wonder.language.values import BadValue, JsonValue
from wonder.storage.clock import utc_now
from wonder.storage.secret_keys import KeySource
from wonder.storage.secrets import Owner, delete_secret, rotate, set_secret
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default

CANARY = "canary/5d41402abc+4b2a76"
ENCODED = base64.b64encode(b"user:" + CANARY.encode()).decode()


SCOPE = SecretScope(hosts=("api.example.com",))


def to_api(values: object) -> Destination:
    """Say that secrets go where they may."""
    return Destination("host", "api.example.com")


class Cabinet:
    """A project with secrets."""

    def __init__(self, store: Store, project_id: str, folder: Path) -> None:
        self.store, self.project_id, self.keys = store, project_id, KeySource(folder / "key")
        self.redactor, self.now_ms = Redactor(), 1_000
        self.secrets = StoredSecrets(store, lambda: self.keys, self.redactor, lambda: self.now_ms)

    async def put(self, name: str, value: str) -> None:
        """Store a secret."""
        owner = Owner("project", self.project_id)
        await set_secret(self.store, self.keys, owner, name, value, SCOPE, clock=utc_now, new_id=new_ulid)

    async def value(self, name: str) -> str:
        """Give one to an action."""
        return (await self.secrets.values(self.project_id, [name], to_api))[name]


@pytest.fixture
async def cabinet(store: Store, tmp_path: Path) -> Cabinet:
    """The default project, without any secrets."""
    home = await ensure_default(store, clock=utc_now, new_id=new_ulid)
    return Cabinet(store, home.project_id, tmp_path)


@pytest.fixture
def record_factory() -> Iterator[None]:
    """Log records made as before when the test has ended."""
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)


async def test_inv_8_what_an_action_was_given_is_redacted_from_then_on(cabinet: Cabinet) -> None:
    """INV-8"""
    await cabinet.put("TOKEN", CANARY)
    assert await cabinet.secrets.values(cabinet.project_id, [], to_api) == {}
    assert not cabinet.redactor, "nothing is looked for that nobody has used"
    assert await cabinet.secrets.values(cabinet.project_id, {"TOKEN"}, to_api) == {"TOKEN": CANARY}
    assert cabinet.redactor.text(f"GET /?key={CANARY}") == "GET /?key=[secret TOKEN]"
    assert cabinet.redactor.text(cabinet.keys.path.read_text()) == "[secret WONDER_SECRET_KEY]\n", (
        "nor is the key shown"
    )


async def test_a_secret_that_is_missing_is_named_and_how_to_store_it(cabinet: Cabinet) -> None:
    await cabinet.put("TOKEN", CANARY)
    with pytest.raises(SecretMissing, match="wonder secrets set TOKN") as missing:
        await cabinet.secrets.values(cabinet.project_id, {"TOKEN", "TOKN"}, to_api)
    assert missing.value.code == "SECRET_MISSING"
    assert not missing.value.retryable


async def test_a_change_is_heard_of_within_a_second(cabinet: Cabinet) -> None:
    await cabinet.put("TOKEN", "the first value")
    assert await cabinet.value("TOKEN") == "the first value"
    await cabinet.put("TOKEN", "the second value")
    assert await cabinet.value("TOKEN") == "the first value", "not asked for again at once"
    cabinet.now_ms += 1_000
    assert await cabinet.value("TOKEN") == "the second value"
    assert cabinet.redactor.text("the first value, the second value") == "[secret TOKEN], [secret TOKEN]"
    await delete_secret(cabinet.store, Owner("project", cabinet.project_id), "TOKEN")
    cabinet.now_ms += 1_000
    with pytest.raises(SecretMissing):
        await cabinet.value("TOKEN")


async def test_a_process_that_runs_while_keys_are_rotated_goes_on(cabinet: Cabinet) -> None:
    await cabinet.put("TOKEN", CANARY)
    await cabinet.value("TOKEN")
    await rotate(cabinet.store, cabinet.keys)
    cabinet.now_ms += 1_000
    assert await cabinet.value("TOKEN") == CANARY


async def test_a_lost_or_unsafe_key_is_told_as_a_failure_that_trying_again_does_not_mend(cabinet: Cabinet) -> None:
    await cabinet.put("TOKEN", CANARY)
    cabinet.keys.path.chmod(0o644)
    with pytest.raises(ActionFailed, match="chmod 600") as failed:
        await cabinet.value("TOKEN")
    assert (failed.value.code, failed.value.retryable) == ("SECRET_KEY_BAD", False)
    cabinet.keys.path.unlink()
    with pytest.raises(ActionFailed, match="put that key there") as failed:
        await cabinet.value("TOKEN")
    assert failed.value.code == "SECRET_KEY_MISSING"


class Configuration(Record):
    """What the kind of these tests takes."""

    does: str


class LeakingKind(ActionKind):
    """Uses a secret, and shows it wherever it can."""

    kind = "leaking"
    configuration = Configuration

    def __init__(self, cabinet: Cabinet) -> None:
        self.cabinet = cabinet
        self.calls = 0

    def compile(self, action: ActionDef, use: Use) -> "Leak":
        """Do what the configuration says."""
        return Leak(self, self.read(action).does)


class Leak:
    """One way to show a secret."""

    def __init__(self, kind: LeakingKind, does: str) -> None:
        self.kind, self.does = kind, does

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Show it."""
        self.kind.calls += 1
        secret = await self.kind.cabinet.value("TOKEN")
        context.report_progress({"asks": secret})
        context.note(ARTIFACT_WRITTEN({"step": secret, "artifact_id": "1", "content_type": "a/b", "size_bytes": 1}))
        context.logger.warning("asks with %s", secret, extra={"asked_with": secret})
        details: dict[str, JsonValue] = {"headers": {"authorization": f"Basic {ENCODED}"}, secret: 1}
        match self.does:
            case "fails":
                raise ActionFailed("REFUSED", f"401 for {secret}", details=details, names=(secret,))
            case "breaks":
                raise RuntimeError(f"no such host: {secret}")
            case "refuses":
                raise BadValue(f"not JSON: {secret}")
        return {"body": f"you sent {secret}", "headers": details, secret: [secret]}


async def run(cabinet: Cabinet, does: str, **fields: Any) -> tuple[TaskResult, list[JsonValue], Bench]:
    """Run a task with one such action; give its result, its progress, and the executor."""
    await cabinet.put("TOKEN", CANARY)
    progress: list[JsonValue] = []
    kind = LeakingKind(cabinet)
    resources = Resources(cabinet.store, lambda: cabinet.now_ms, cabinet.secrets)
    settings: dict[str, Any] = {
        "kinds": (kind,),
        "resources": resources,
        "redactor": cabinet.redactor,
        "on_progress": lambda origin, step, told: progress.append(told),
    }
    async with bench(**settings) as made:
        leaking = action("leak", "leaking", {"does": does}, **fields)
        result = await made.run(task(step("leak")), {}, leaking)
        if fields.get("idempotency"):
            result = await made.run(task(step("leak")), {}, leaking)
            assert kind.calls == 1
    return result, progress, made


@pytest.mark.parametrize("fields", [{}, {"idempotency": {"key_template": "{{run_id}}"}}], ids=["", "idempotent"])
async def test_inv_8_an_output_and_progress_show_no_secret(cabinet: Cabinet, fields: dict[str, Any]) -> None:
    """INV-8: in keys neither, and nothing of it is kept as the result of an idempotent action (RET-4)."""
    result, progress, _ = await run(cabinet, "answers", **fields)
    output: Any = result.output
    assert output["body"] == "you sent [secret TOKEN]"
    assert output["headers"]["[secret TOKEN]"] == 1
    assert output["[secret TOKEN]"] == ["[secret TOKEN]"]
    assert progress == [{"asks": "[secret TOKEN]"}]
    told = {"step": "[secret TOKEN]", "artifact_id": "1", "content_type": "a/b", "size_bytes": 1}
    assert fields or result.noted == (("artifact_written", told),)
    assert CANARY not in repr(result)
    assert ENCODED[10:-6] not in repr(result)


@pytest.mark.parametrize("does", ["fails", "breaks", "refuses"])
async def test_inv_8_a_failure_shows_no_secret(cabinet: Cabinet, does: str) -> None:
    """INV-8: whether the action says why, breaks, or refuses a value."""
    result, _, _ = await run(cabinet, does)
    assert result.error
    assert result.error.code == {"fails": "REFUSED", "breaks": "ACTION_BROKEN", "refuses": "BAD_VALUE"}[does]
    assert "[secret TOKEN]" in result.error.message
    assert CANARY not in repr(result)
    assert ENCODED[10:-6] not in repr(result)


@pytest.mark.usefixtures("record_factory")
async def test_inv_8_no_log_of_this_process_shows_a_secret(cabinet: Cabinet, caplog: pytest.LogCaptureFixture) -> None:
    """INV-8: neither ours, nor that of a library that logs the address of a request, nor a traceback."""
    caplog.set_level(logging.DEBUG)
    await run(cabinet, "answers")
    try:
        int(CANARY)
    except ValueError:
        logging.getLogger("some.library").exception("GET https://host/?key=%s", CANARY, stack_info=True)
    logging.getLogger("some.library").info("%d", CANARY)  # raises where it is written, with what it was made of
    logging.getLogger("some.library").info("%s and %d, as they were", "one", 2)
    assert "asks with [secret TOKEN]" in caplog.text
    assert "GET https://host/?key=[secret TOKEN]" in caplog.text
    assert "ValueError: invalid literal for int() with base 10: '[secret TOKEN]'" in caplog.text
    assert "one and 2, as they were" in caplog.text
    assert CANARY not in caplog.text
    assert CANARY not in repr([vars(record) for record in caplog.records])


@pytest.mark.parametrize("size", [1, 2, 7, 24, 25, 1_000])
async def test_inv_8_a_stream_shows_no_secret_wherever_its_chunks_are_cut(size: int) -> None:
    """INV-8"""
    hides = Redactor()
    hides.add("TOKEN", CANARY)
    whole = f"<{CANARY}> and {ENCODED}, é {CANARY}{CANARY}".encode()

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    shown = b"".join([chunk async for chunk in redacted_stream(chunks(), hides)]).decode()
    assert shown.startswith("<[secret TOKEN]> and ")
    assert shown.endswith(", é [secret TOKEN][secret TOKEN]")
    assert ENCODED[10:-6] not in shown


async def test_without_secrets_nothing_is_looked_at(cabinet: Cabinet) -> None:
    """The very value that an action gave is the result."""
    given = {"a": ["b"]}
    async with bench(redactor=cabinet.redactor) as made:
        result = await made.run(task(step("same")), {}, same=lambda: given)
    assert result.output == given
    assert not cabinet.redactor
