"""Settings of a project or its workspace: by a key, checked by their records (RES-6)."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import reduce
from hashlib import sha256
from typing import Any, Literal

from pydantic import ValidationError

from wonder.app.application import Application
from wonder.app.private import check_files_root
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.resources import ModelProfile
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.errors import WonderError
from wonder.language.values import JsonValue, canonical_json, encode_json
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.permitting import Needs
from wonder.storage.own_resources import find_own_resource
from wonder.storage.spending import NANO, month_of, standing
from wonder.storage.tenancy import change_project_settings, change_workspace_settings, load_project, load_workspace

Of = Literal["project", "workspace"]
Settings = ProjectSettings | WorkspaceSettings

_RECORDS: dict[Of, type[Settings]] = {"project": ProjectSettings, "workspace": WorkspaceSettings}
_MODEL = "default_model_profile_id"
_FILES_ROOT = "files_root"


class SettingRefused(WonderError):
    """A setting that there is not, or a value that it can't have."""

    code = "SETTING_REFUSED"


class SettingsChanged(WonderError):
    """Somebody has changed the settings since they were read."""

    code = "SETTINGS_CHANGED"

    def __init__(self, of: Of) -> None:
        super().__init__(f"the settings of the {of} have changed since they were read; read them again, then decide")
        self.of = of


class SettingsQuestion(Input, frozen=True):
    """Whose settings."""

    of: Of

    @property
    def needs(self) -> Needs:
        """Those of the workspace apply to every project."""
        return Needs(reach=self.of)


class SettingChoice(Output, frozen=True):
    """One setting, and in words what it may be."""

    key: str
    value: Any
    may_be: str


class SpendingRecord(Output, frozen=True):
    """What was spent this month, is held for calls under way, and was added to the budget."""

    month: str
    spent_usd: float
    reserved_usd: float
    extended_usd: float


class SettingsRecord(Output, frozen=True):
    """All settings, and what was spent this month."""

    settings: dict[str, Any]
    choices: list[SettingChoice]
    spending: SpendingRecord
    mark: str
    """Another one whenever a setting has changed."""


@operation("settings.show", role="viewer")
async def show_settings(application: Application, given: SettingsQuestion) -> SettingsRecord:
    """Show the settings of the project or its workspace, and what was spent this month."""
    settings, schema = (await _load(application, given.of)).model_dump(mode="json"), _schema(given.of)
    month = month_of(SYSTEM_CLOCK.now_ms())
    spent = await standing(application.store, _id(application, given.of), month)
    return SettingsRecord(
        settings=settings,
        choices=[
            SettingChoice(key=key, value=_at(settings, key), may_be=_allowed(part, schema))
            for key, part in _keys(schema)
        ],
        spending=SpendingRecord(
            month=month,
            spent_usd=spent.spent_nanousd / NANO,
            reserved_usd=spent.reserved_nanousd / NANO,
            extended_usd=spent.extended_nanousd / NANO,
        ),
        mark=_mark(settings),
    )


class ChangeSetting(Input, frozen=True):
    """A setting, and its new value."""

    of: Of
    key: str
    """As `settings.show` lists them: `budget.max_monthly_spend_cents`, or a group as a whole."""
    value: Any
    only_if: str | None = None
    """Only if the settings still have this mark; null changes them whatever they are."""

    @property
    def needs(self) -> Needs:
        """Those of the workspace apply to every project."""
        return Needs(reach=self.of)


class ChangedSetting(Output, frozen=True):
    """A setting with its new value."""

    setting: str
    value: Any
    before: Any
    """What it was until now."""

    def change(self) -> tuple[JsonValue, JsonValue]:
        """Give what it was and what it is, for the audit log."""
        return self.before, self.value


@operation("settings.set", role="admin", changes=True)
async def change_setting(application: Application, given: ChangeSetting) -> ChangedSetting:
    """Change one setting of the project or its workspace; it applies to active runs within a second."""
    key, value, schema = given.key, given.value, _schema(given.of)
    part = _part(schema, given.of, key)
    if given.of == "project" and key == _MODEL and isinstance(value, str):
        value = await _model_id(application, value)
    if given.of == "project" and key == _FILES_ROOT and isinstance(value, str) and value:
        check_files_root(application, value)

    before: JsonValue = None

    def change(settings: Any) -> Any:
        if given.only_if not in (None, _mark(settings.model_dump(mode="json"))):
            raise SettingsChanged(given.of)
        nonlocal before
        before = _at(settings.model_dump(mode="json"), key)
        return _changed(settings, given.of, key, value, _allowed(part, schema))

    store, home, clock = application.store, application.home, application.clock
    if given.of == "project":
        await change_project_settings(store, home.project_id, change, clock=clock)
    else:
        await change_workspace_settings(store, home.workspace_id, change, clock=clock)
    return ChangedSetting(setting=key, value=value, before=before)


def _mark(settings: dict[str, Any]) -> str:
    return sha256(canonical_json(settings).encode()).hexdigest()[:32]


def _changed(settings: Settings, of: Of, key: str, value: JsonValue, allowed: str) -> Settings:
    """Give the settings with one of them changed; raises SettingRefused."""
    whole = settings.model_dump(mode="json")
    *path, last = key.split(".")
    reduce(lambda inner, name: inner[name], path, whole)[last] = value
    try:
        return _RECORDS[of].model_validate(whole)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(segment) for segment in fault["loc"] if isinstance(segment, str | int))
        inner = f" ({where}: {fault['msg'].lower()})" if where != key else ""
        shown = encode_json(value)[:200]
        raise SettingRefused(f"{key} of a {of} can't be {shown}{inner}; it may be {allowed}") from None


async def _model_id(application: Application, name: str) -> str:
    """Find the model that a name or id means, so that no setting leads to nothing (RES-7)."""
    found = await find_own_resource(application.store, ModelProfile, application.home.project_id, name)
    if found is None:
        raise SettingRefused(f"there is no model {name!r} in this project; deploy one under `models` first")
    return found.id


def _part(schema: dict[str, Any], of: Of, key: str) -> dict[str, Any]:
    """Give what a key may be; a group of settings is changed as a whole. Raises SettingRefused."""
    groups = {name: _resolved(schema, part) for name, part in schema["properties"].items() if "$ref" in part}
    known: dict[str, dict[str, Any]] = dict(_keys(schema)) | groups
    if key not in known:
        near = get_close_matches(key, known, n=1, cutoff=0.5) or [found for found in known if found.endswith(f".{key}")]
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise SettingRefused(f"a {of} has no setting {key!r}; {meant}it has: {', '.join(dict(_keys(schema)))}")
    return known[key]


def _keys(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema["properties"].items():
        if "$ref" in part:
            yield from ((f"{name}.{inner}", of) for inner, of in _resolved(schema, part)["properties"].items())
        else:
            yield name, part


def _allowed(part: dict[str, Any], schema: dict[str, Any]) -> str:
    """Say in words what a setting may be."""
    if "anyOf" in part:
        return " or ".join(_allowed(one, schema) for one in part["anyOf"])
    if "enum" in part:
        return " or ".join(part["enum"])
    match part.get("type"):
        case "integer":
            return f"a whole number from {part['minimum']:,} to {part['maximum']:,}"
        case "boolean":
            return "true or false"
        case "array":
            if "$ref" in part["items"]:
                return f"a list of objects with {', '.join(_resolved(schema, part['items'])['properties'])}"
            return f"a list of {', '.join(part['items'].get('enum', ['names']))}"
        case "null" | "string" as kind:
            return "null" if kind == "null" else "a string"
    return f"an object with {', '.join(part['properties'])}"


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    resolved: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return resolved


def _schema(of: Of) -> dict[str, Any]:
    return _RECORDS[of].model_json_schema()


async def _load(application: Application, of: Of) -> Settings:
    if of == "project":
        return (await load_project(application.store, application.home.project_id)).settings
    return (await load_workspace(application.store, application.home.workspace_id)).settings


def _id(application: Application, of: Of) -> str:
    return application.home.project_id if of == "project" else application.home.workspace_id


def _at(settings: dict[str, Any], key: str) -> JsonValue:
    found: JsonValue = reduce(lambda inner, name: inner[name], key.split("."), settings)
    return found
