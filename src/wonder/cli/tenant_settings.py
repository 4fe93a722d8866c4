"""Settings of a project or workspace as a person sees and changes them: by a key, checked by their records (RES-6)."""

import asyncio
import os.path
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from wonder.app import App, open_app
from wonder.cli.output import color, print_json, print_table
from wonder.cli.settings import add_database_option, database_setting
from wonder.definitions.records.resources import ModelProfile
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.errors import WonderError
from wonder.language.values import BadValue, JsonValue, encode_json, parse_json
from wonder.storage.named_resources import find_resource, load_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.spending import NANO, month_of, standing
from wonder.storage.tenancy import change_project_settings, change_workspace_settings, load_project, load_workspace

Noun = Literal["project", "workspace"]
Settings = ProjectSettings | WorkspaceSettings

_RECORDS: dict[Noun, type[Settings]] = {"project": ProjectSettings, "workspace": WorkspaceSettings}
_MODEL = "default_model_profile_id"
_FILES_ROOT = "files_root"


class SettingRefused(WonderError):
    """A setting that there is not, or a value that it can't have."""

    code = "SETTING_REFUSED"


def add_commands(parser: ArgumentParser) -> None:
    """Take show or set."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="show | set")
    show = commands.add_parser("show", help="show all settings, and what was spent this month")
    change = commands.add_parser("set", help="change one setting")
    change.add_argument("key", metavar="KEY", help="as `show` lists them, budget.max_monthly_spend_cents for instance")
    change.add_argument("value", metavar="JSON", help="its value: 500, true, null, human_gate, '[\"openai\"]' …")
    for command in (show, change):
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run_command(given: Namespace, noun: Noun) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given, noun))


async def _run(given: Namespace, noun: Noun) -> int:
    async with open_app(database_setting(given.db).value, create=given.command == "set") as app:
        if given.command == "show":
            await _show(app, noun, as_json=given.json)
        else:
            await _set(app, noun, given.key, _value(given.value), as_json=given.json)
    return 0


async def _show(app: App, noun: Noun, *, as_json: bool) -> None:
    settings = (await _load(app, noun)).model_dump(mode="json")
    month = month_of(time.time_ns() // 1_000_000)
    spent = await standing(app.store, _id(app, noun), month)
    if as_json:
        shown = {f"{name.removesuffix('_nanousd')}_usd": amount / NANO for name, amount in spent._asdict().items()}
        print_json({"settings": settings, "spending": {"month": month, **shown}})
        return
    print_table(
        ["SETTING", "VALUE", "MAY BE"],
        [[key, encode_json(_at(settings, key)), _allowed(part)] for key, part in _keys(_schema(noun))],
    )
    print(f"\nspent in {month}: {_amount(spent.spent_nanousd)} USD", end="")
    print(
        f", and {_amount(spent.reserved_nanousd)} USD held for calls under way" if spent.reserved_nanousd else "",
        end="",
    )
    print(f"; the budget was extended by {_amount(spent.extended_nanousd)} USD" if spent.extended_nanousd else "")


async def _set(app: App, noun: Noun, key: str, value: JsonValue, *, as_json: bool) -> None:
    schema = _schema(noun)
    part = _part(schema, noun, key)
    if noun == "project" and key == _MODEL and isinstance(value, str):
        value = await _model_id(app, value)
    if noun == "project" and key == _FILES_ROOT and isinstance(value, str) and value:
        value = _absolute(value)

    def change(settings: Any) -> Any:
        return _changed(settings, noun, key, value, part)

    if noun == "project":
        await change_project_settings(app.store, app.home.project_id, change, clock=app.clock)
    else:
        await change_workspace_settings(app.store, app.home.workspace_id, change, clock=app.clock)
    if as_json:
        print_json({"setting": key, "value": value})
    else:
        print(
            f"{color('good', '✓')} {key} of the {noun} is {encode_json(value)}; runs under way heed it within a second"
        )


def _changed(settings: Settings, noun: Noun, key: str, value: JsonValue, part: dict[str, Any]) -> Settings:
    """Give the settings with one of them changed; raises SettingRefused."""
    whole = settings.model_dump(mode="json")
    *path, last = key.split(".")
    reduce(lambda inner, name: inner[name], path, whole)[last] = value
    try:
        return _RECORDS[noun].model_validate(whole)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(segment) for segment in fault["loc"] if isinstance(segment, str | int))
        inner = f" ({where}: {fault['msg'].lower()})" if where != key else ""
        shown = encode_json(value)[:200]
        raise SettingRefused(f"{key} of a {noun} can't be {shown}{inner}; it may be {_allowed(part)}") from None


def _absolute(path: str) -> str:
    """Give a path as the shell that it was written in means it."""
    return str(Path(os.path.abspath(Path(path).expanduser())))  # noqa: PTH100  # a link stays what it is


async def _model_id(app: App, name: str) -> str:
    """Find the model that a name or id means, so that no setting leads to nothing (RES-7)."""
    found = await find_resource(app.store, ModelProfile, app.home.project_id, name)
    if found is None:
        try:
            found = await load_resource(app.store, ModelProfile, name)
        except NotFound:
            found = None
    if found is None or found.project_id != app.home.project_id:
        raise SettingRefused(f"there is no model {name!r} in this project; deploy one under `models` first")
    return found.id


def _part(schema: dict[str, Any], noun: Noun, key: str) -> dict[str, Any]:
    """Give what a key may be; a group of settings is changed as a whole. Raises SettingRefused."""
    groups = {name: _resolved(schema, part) for name, part in schema["properties"].items() if "$ref" in part}
    known: dict[str, dict[str, Any]] = dict(_keys(schema)) | groups
    if key not in known:
        near = get_close_matches(key, known, n=1, cutoff=0.5) or [found for found in known if found.endswith(f".{key}")]
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise SettingRefused(f"a {noun} has no setting {key!r}; {meant}it has: {', '.join(dict(_keys(schema)))}")
    return known[key]


def _keys(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema["properties"].items():
        if "$ref" in part:
            yield from ((f"{name}.{inner}", of) for inner, of in _resolved(schema, part)["properties"].items())
        else:
            yield name, part


def _allowed(part: dict[str, Any]) -> str:
    """Say in words what a setting may be."""
    if "anyOf" in part:
        return " or ".join(_allowed(one) for one in part["anyOf"])
    if "enum" in part:
        return " or ".join(part["enum"])
    match part.get("type"):
        case "integer":
            return f"a whole number from {part['minimum']:,} to {part['maximum']:,}"
        case "boolean":
            return "true or false"
        case "array":
            return f"a list of {', '.join(part['items'].get('enum', ['names']))}"
        case "null" | "string" as kind:
            return "null" if kind == "null" else "a text"
    return f"an object with {', '.join(part['properties'])}"


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    resolved: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return resolved


def _schema(noun: Noun) -> dict[str, Any]:
    return _RECORDS[noun].model_json_schema()


async def _load(app: App, noun: Noun) -> Settings:
    if noun == "project":
        return (await load_project(app.store, app.home.project_id)).settings
    return (await load_workspace(app.store, app.home.workspace_id)).settings


def _id(app: App, noun: Noun) -> str:
    return app.home.project_id if noun == "project" else app.home.workspace_id


def _at(settings: dict[str, Any], key: str) -> JsonValue:
    found: JsonValue = reduce(lambda inner, name: inner[name], key.split("."), settings)
    return found


def _amount(nanousd: int) -> str:
    return f"{nanousd / NANO:.6f}".rstrip("0").rstrip(".")


def _value(text: str) -> JsonValue:
    """Read a value; a word that is no JSON stands for itself."""
    try:
        return parse_json(text)
    except BadValue:
        return text
