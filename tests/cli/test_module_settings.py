"""Which modules `python` actions may call functions of: `--module`, WONDER_MODULES, `modules` in wonder.toml."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from wonder.app.opening import ImportRootsRefused, open_wonder
from wonder.cli import serve
from wonder.cli.main import main
from wonder.errors import WonderError


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module and a workflow in the working directory; the workflow is stored."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///runs.db")
    # Another name each time: Python keeps a module that it has once imported.
    name = f"shop_{uuid4().hex}"
    Path(f"{name}.py").write_text("import os, wonder\n\n@wonder.function\ndef price():\n    return {'cents': 3}\n")
    for workflow, function in (("price", "price"), ("attack", "os.getcwd")):
        action = {"kind": "python", "implementation": {"function": f"{name}:{function}"}}
        node = {"action": action, "output_mapping": {"output": "$"}}
        Path(f"{workflow}.json").write_text(
            json.dumps({"workflow": {"name": workflow, "initial_node": "only", "nodes": {"only": node}}})
        )
    assert main(["deploy", "price.json", "attack.json"]) == 0
    return name


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_file_that_is_run_may_import_from_the_working_directory_and_nothing_else_may(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """TSK-8: without it the task waits, and the command says how the module is allowed."""
    assert run(capsys, "run", "price")["status"] == "waiting"
    assert main(["run", "price"]) == 3
    assert f"start one with --module {module}" in capsys.readouterr().out
    assert run(capsys, "run", "price.json")["output"] == {"cents": 3}


def test_modules_are_named_by_flag_then_environment_then_file(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And imported from the working directory, where wonder.toml is; `wonder doctor` says who named them."""
    Path("wonder.toml").write_text(f'modules = ["{module}"]\n')
    assert run(capsys, "run", "price")["output"] == {"cents": 3}
    shown = run(capsys, "doctor")["settings"]
    assert {"name": "modules", "value": module, "origin": "wonder.toml"} in shown
    monkeypatch.setenv("WONDER_MODULES", "absent, another")
    assert run(capsys, "run", "price")["status"] == "waiting"
    assert {"name": "modules", "value": "absent, another", "origin": "WONDER_MODULES"} in run(capsys, "doctor")[
        "settings"
    ]
    assert run(capsys, "run", "price", "--module", "absent", "--module", module)["output"] == {"cents": 3}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('modules = "orders"', "must be a list of module names"),
        ("modules = [3]", "must be a list of module names"),
        ('modules = ["orders.py/"]', "is not a valid module name"),
        ('modules = ["orders:price"]', "is not a valid module name"),
        ('modules = ["shop._private"]', "is not a valid module name"),
    ],
)
def test_what_names_no_module_is_refused(
    module: str, text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wonder.toml").write_text(text)
    assert main(["run", "price"]) == 2
    assert reason in capsys.readouterr().err


def test_a_definition_reaches_nothing_that_a_module_has_imported(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in a run of its file, nor where it is stored and its module was named."""
    for words in (["run", "attack.json"], ["run", "attack", "--module", module]):
        assert run(capsys, *words)["error"]["code"] == "UNKNOWN_FUNCTION"


def test_an_engine_is_served_with_named_modules_only(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, Any]] = []

    def seen(url: str, **options: Any) -> Any:
        opened.append(options)
        raise WonderError("seen")

    monkeypatch.setattr(serve, "open_wonder", seen)
    assert main(["serve", "--no-http", "--module", module]) == 2
    (options,) = opened
    del options["news"]
    assert options == {"modules": [module], "module_folders": [Path.cwd()], "objects": None}


async def test_a_process_that_runs_all_runs_takes_no_import_roots(store_url: str, tmp_path: Path) -> None:
    for runs in ("all", "none"):
        with pytest.raises(ImportRootsRefused, match="modules="):
            async with open_wonder(store_url, import_roots=[tmp_path], runs=runs):  # type: ignore[arg-type]
                pass
