"""Opening Wonder: whatever goes wrong on the way, the database is closed and the error is the one that was met."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from wonder.app import opening
from wonder.app.opening import open_wonder
from wonder.errors import WonderError
from wonder.storage.errors import DatabaseUnreachable, StoreClosed
from wonder.storage.opening import open_store
from wonder.storage.store import Store

IMPORTED = """
import asyncio, sys
import wonder
from wonder.storage import opening

found = []

async def migrate(store, *, on_begin=None, **options):
    found.append("wonder.app.engine" in sys.modules)
    if on_begin:
        on_begin()
        # So long a server takes to make its tables.
        await asyncio.sleep(0.5)
        found.append("wonder.app.engine" in sys.modules)
    await original(store, **options)

original, opening.migrate = opening.migrate, migrate

async def main():
    async with wonder.open(sys.argv[1]):
        print(*found)

asyncio.run(main())
"""


def greeting(module: str) -> dict[str, Any]:
    action = {"kind": "python", "implementation": {"function": f"{module}:say"}}
    node = {"action": action, "output_mapping": {"output.line": "$"}}
    return {"workflow": {"name": "greet", "initial_node": "say", "nodes": {"say": node}}}


async def test_act_10_modules_are_given_by_name_or_themselves(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"greeter_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("import wonder\n@wonder.function\ndef say():\n    return 'hello'\n")
    monkeypatch.syspath_prepend(tmp_path)
    for modules in ([name], [importlib.import_module(name)]):
        async with open_wonder(store_url, modules=modules) as app:
            workflow = await app.deploy(greeting(name))
            assert (await (await app.start(workflow)).wait()).output == {"line": "hello"}


async def test_act_10_folders_are_given_as_text_or_as_paths(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"greeter_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("import wonder\n@wonder.function\ndef say():\n    return 'hello'\n")
    monkeypatch.chdir(tmp_path)
    for folder in (".", Path()):
        given: list[dict[str, Any]] = [{"import_roots": [folder]}, {"modules": [name], "module_folders": [folder]}]
        for options in given:
            async with open_wonder(store_url, runs="own", **options) as app:
                workflow = await app.deploy(greeting(name))
                assert (await (await app.start(workflow)).wait()).output == {"line": "hello"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"modules": "orders"}, r"modules must be a list, such as \['orders'\]"),
        ({"modules": pytest}, r"modules must be a list, such as \[pytest\]"),
        ({"modules": [7]}, "modules holds 7; give the module itself or its name"),
        ({"modules": [ModuleType("made_up")]}, "which 'import made_up' does not give"),
        ({"import_roots": "."}, "import_roots must be a list of folders"),
        ({"module_folders": Path()}, "module_folders must be a list of folders"),
        ({"import_roots": [7]}, "import_roots holds 7; give a folder as text or as a pathlib.Path"),
    ],
)
async def test_act_10_what_is_no_module_and_no_folder_is_a_type_error(
    options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=why):
        async with open_wonder(f"sqlite:///{tmp_path}/w.db", runs="own", **options):
            pass


async def test_a_database_is_closed_when_what_comes_after_it_fails(
    empty_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Store] = []

    async def noted(url: str, **options: object) -> Store:
        opened.append(await open_store(url))
        return opened[0]

    def refused(store: Store, url: str, **_: object) -> object:
        raise WonderError("refused")

    monkeypatch.setattr(opening, "open_store", noted)
    monkeypatch.setattr(opening, "app_on", refused)
    with pytest.raises(WonderError, match="refused"):
        async with open_wonder(empty_store_url):
            pass
    with pytest.raises(StoreClosed):
        await opened[0].fetch("table_exists", "runs")


async def test_a_database_that_can_not_be_opened_is_told_as_it_is() -> None:
    with pytest.raises(DatabaseUnreachable):
        async with open_wonder("sqlite:////nowhere/at/all.db"):
            pass


def test_the_engine_is_imported_while_a_server_makes_the_tables(empty_store_url: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", IMPORTED, empty_store_url], capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    on_a_server = empty_store_url.startswith("postgresql")
    assert finished.stdout.split() == (["False", "True"] if on_a_server else ["False"])
