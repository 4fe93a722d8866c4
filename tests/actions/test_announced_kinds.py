"""Kinds of action that a user's package adds (ACT-8): one class, one entry point, checked like all others."""

import asyncio
import re
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from support.definitions import faults_in
from support.systems import bundle, running
from support.tasks import ORIGIN, action
from wonder.actions.announcing import announce_kinds
from wonder.actions.guide import all_guides
from wonder.actions.protocol import ActionContext, ActionFailed, Use
from wonder.app.application import Application
from wonder.cli.main import main
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.definitions.kinds import KINDS
from wonder.definitions.secret_scopes import SecretScope
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret

MODULE = '''
"""A package of somebody else's."""

from typing import Any, ClassVar

from wonder.actions.protocol import ActionContext, ActionKind, Use
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record


SEEN: list[str] = []


class Tone(Record):
    """How it is said."""

    loud: bool = False


class Sleep(Record):
    """Called like a record of ours on purpose."""

    greeting: str
    tone: Tone = Tone()
    token: str | None = None
    secret_fields: ClassVar = frozenset({"token"})


class GreetKind(ActionKind):
    """Greets somebody."""

    kind = "acme_greet"
    configuration = Sleep
    gives = "{line}"

    def compile(self, action: ActionDef, use: Use) -> "Greet":
        return Greet(self.read(action))


class Greet:
    def __init__(self, configured: Sleep) -> None:
        self.configured = configured

    async def run(self, input: Any, context: ActionContext) -> Any:
        line = f"{self.configured.greeting}, {input['name']}"
        if self.configured.token:
            SEEN.append(self.configured.token)
            line += f" with {self.configured.token}"
        if input.pop("name") == "odd":
            return {"line": {1, 2}}
        return {"line": line.upper() if self.configured.tone.loud else line}
'''


@pytest.fixture
def package(tmp_path: Path) -> Iterator[None]:
    """A package with one kind, installed as pip does: its module, and a folder that tells its entry points."""
    folder = tmp_path / "site"
    (folder / "acme_greetings-1.0.dist-info").mkdir(parents=True)
    (folder / "acme_greetings.py").write_text(MODULE)
    (folder / "acme_greetings-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-greetings\nVersion: 1.0\n"
    )
    (folder / "acme_greetings-1.0.dist-info" / "entry_points.txt").write_text(
        "[wonder.actions]\ngreet = acme_greetings:GreetKind\n"
    )
    sys.path.insert(0, str(folder))
    invalidate_caches()
    announce_kinds()
    yield
    uninstall()
    KINDS.discover_by(dict)


def uninstall() -> None:
    """Take the package away again."""
    sys.path[:] = [path for path in sys.path if not path.endswith("/site") or "pytest-of" not in path]
    sys.modules.pop("acme_greetings", None)
    invalidate_caches()


def greets(**implementation: Any) -> dict[str, Any]:
    """A workflow that uses the kind."""
    action = {"kind": "acme_greet", "implementation": implementation}
    mappings = {"input_mapping": {"name": "$.input.name"}, "output_mapping": {"output.line": "$.line"}}
    return bundle("greet", {"greet": {"action": action, **mappings}})


@pytest.mark.usefixtures("package")
async def test_act_8_a_kind_of_a_package_is_deployed_and_run_like_ours(store_url: str) -> None:
    """ACT-8"""
    async with running(store_url) as wonder:
        await wonder.deploy(greets(greeting="Hello", tone={"loud": True}))
        result = await (await wonder.start("greet", {"name": "Ada"})).wait()
    assert (result.status, result.output) == ("completed", {"line": "HELLO, ADA"})


@pytest.mark.usefixtures("package")
async def test_act_8_what_it_gives_that_is_not_json_fails_its_task(store_url: str) -> None:
    """ACT-8: with the place, once, and without harm to the engine."""
    async with running(store_url) as wonder:
        await wonder.deploy(greets(greeting="Hello"))
        result = await (await wonder.start("greet", {"name": "odd"})).wait()
        assert result.error
        assert result.error["code"] == "BAD_RESULT"
        assert str(result.error["message"]).startswith(
            "the kind of action 'acme_greet' returned what can't be kept: at line"
        )
        assert (await (await wonder.start("greet", {"name": "Ada"})).wait()).status == "completed"


@pytest.mark.usefixtures("package")
async def test_act_8_its_secret_fields_hold_the_secrets_when_it_runs(store_url: str) -> None:
    """ACT-8, INV-8: as they are at that time; what it shows of them is redacted."""

    async def store(wonder: Application, value: str) -> None:
        app, owner = wonder, Owner("project", wonder.home.project_id)
        given = ("TOKEN", value, SecretScope(kinds=("acme_greet",)))
        await set_secret(app.store, key_source(store_url), owner, *given, clock=app.clock, new_id=app.new_id)

    async with running(store_url) as wonder:
        await wonder.deploy(greets(greeting="Hello", token="Bearer {{secrets.TOKEN}}"))
        missing = await (await wonder.start("greet", {"name": "Ada"})).wait()
        assert missing.error
        assert missing.error["code"] == "SECRET_MISSING"
        await store(wonder, "first-5kq9-token")
        first = await (await wonder.start("greet", {"name": "Ada"})).wait()
    async with running(store_url) as wonder:
        await store(wonder, "second-7xw2-token")
        second = await (await wonder.start("greet", {"name": "Ada"})).wait()
    assert sys.modules["acme_greetings"].SEEN == ["Bearer first-5kq9-token", "Bearer second-7xw2-token"]
    assert first.output == second.output == {"line": "Hello, Ada with Bearer [secret TOKEN]"}


@pytest.mark.usefixtures("package")
async def test_act_8_a_secret_field_that_reads_more_than_secrets_fails_its_task(store_url: str) -> None:
    """ACT-8: rather than leave out what stands there."""
    async with running(store_url) as wonder:
        app, owner = wonder, Owner("project", wonder.home.project_id)
        given = ("TOKEN", "x5kq9-token", SecretScope(kinds=("acme_greet",)))
        await set_secret(app.store, key_source(store_url), owner, *given, clock=app.clock, new_id=app.new_id)
        await wonder.deploy(greets(greeting="Hello", token="{{name}} {{secrets.TOKEN}}"))
        result = await (await wonder.start("greet", {"name": "Ada"})).wait()
    assert result.error
    assert result.error["code"] == "BAD_SECRET_FIELD"
    assert "{{name}}" in str(result.error["message"])


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("implementation", "code", "where"),
    [
        ({}, "missing_field", "greeting"),
        ({"greeting": 1}, "wrong_type", "greeting"),
        ({"greeting": "Hi", "tone": {"lound": True}}, "unknown_field", "lound"),
        ({"greeting": "Hi {{secrets.NAME}}"}, "secret_misplaced", "greeting"),
    ],
)
def test_act_8_its_configuration_is_checked_at_creation(implementation: dict[str, Any], code: str, where: str) -> None:
    """ACT-8: with secrets only in the fields that the kind itself says go out (INV-8)."""
    (fault,) = faults_in(greets(**implementation))
    assert (fault.code, fault.path[-1]) == (code, where)
    assert faults_in(greets(greeting="Hi", token="{{secrets.NAME}}")) == []


@pytest.mark.usefixtures("package")
def test_act_8_editors_and_the_guide_know_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """ACT-8"""
    editor = jsonschema_rs.Draft202012Validator(file_form_schema())
    assert editor.is_valid(greets(greeting="Hi", tone={"loud": True}))
    assert not editor.is_valid(greets(greeting="Hi", tone={"loud": 1}))
    assert not editor.is_valid(greets())
    (guide,) = [guide for guide in all_guides() if guide.kind == "acme_greet"]
    assert (guide.summary, guide.gives, guide.package) == ("Greets somebody.", "{line}", "acme_greetings")
    assert [field.name for field in guide.fields] == ["greeting", "tone", "token"]
    assert main(["actions", "show", "acme_greet"]) == 0
    assert "added by acme_greetings" in capsys.readouterr().out
    file = tmp_path / "greet.yaml"
    file.write_text("actions: {a: {kind: acme_greet, implementation: {greeting: Hi}}}")
    assert main(["validate", str(file)]) == 0


def test_act_8_without_the_package_the_kind_is_unknown() -> None:
    """ACT-8"""
    (fault,) = faults_in(greets(greeting="Hello"))
    assert (fault.code, fault.path[-1]) == ("bad_choice", "kind")


async def test_act_8_what_was_deployed_with_a_package_fails_clearly_without_it(
    store_url: str, request: pytest.FixtureRequest
) -> None:
    """ACT-8: and nothing else that is stored is harmed."""
    request.getfixturevalue("package")
    async with running(store_url) as wonder:
        await wonder.deploy(greets(greeting="Hello"))
    uninstall()
    async with running(store_url) as wonder:
        result = await (await wonder.start("greet", {"name": "Ada"})).wait()
        assert result.error
        assert result.error["code"] == "UNKNOWN_ACTION_KIND"
        assert "acme_greet" in str(result.error["message"])


def test_act_8_the_kind_that_the_guide_shows_works() -> None:
    """ACT-8"""
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "own-kinds.md").read_text("utf-8")
    source, *_ = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {"__name__": "acme_greetings"}
    exec(source, names)
    compiled = names["GreetKind"]().compile(action("greet", "acme_greet", {"greeting": "Hi", "loud": True}), Use())
    context = ActionContext(ORIGIN, "step", 1)
    assert asyncio.run(compiled.run({"name": "Ada"}, context)) == {"line": "HI, ADA"}
    with pytest.raises(ActionFailed, match="nobody to greet"):
        asyncio.run(compiled.run({}, context))
