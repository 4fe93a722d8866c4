"""ACT-11: commands and programs tell a call of a Python function that can't work before anything is stored."""

import io
import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import wonder
from wonder.cli.main import main

SOURCE = """import wonder
raise RuntimeError("imported")

@wonder.function
def price(item): ...
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///runs.db")
    return f"shop_{uuid4().hex}"


def definition(function: str, mapping: Any = None, **more: Any) -> dict[str, Any]:
    action = {"kind": "python", "implementation": {"function": function}, **more}
    node = {"action": action, **({} if mapping is None else {"input_mapping": mapping})}
    return {"workflow": {"name": "price", "initial_node": "only", "nodes": {"only": node}}}


def write(path: str, *given: Any, **more: Any) -> str:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps(definition(*given, **more)))
    return path


@pytest.mark.parametrize("command", ["validate", "deploy", "run"])
def test_act_11_commands_look_beside_the_file_and_import_nothing(
    command: str, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write("flows/price.json", f"{module}:prize", {"item": "lamp"})
    Path(f"flows/{module}.py").write_text(SOURCE)
    assert main([command, file]) == 2
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "function_not_callable" in shown
    assert f"did you mean '{module}:price'?" in shown
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({"item": 1}, None),
        ("$.input", None),
        ("$.state.arguments", None),
        ({}, "missing_input"),
        (None, "missing_input"),
        ({"item": 1, "itm": 2}, "unknown_field"),
        ([1], "type_mismatch"),
    ],
)
def test_act_11_what_is_mapped_is_compared_with_the_parameters(
    mapping: Any, code: str | None, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{module}.py").write_text(SOURCE)
    main(["validate", write("price.json", f"{module}:price", mapping), "--json"])
    errors = json.loads(capsys.readouterr().out)["files"][0]["errors"]
    assert [one["type"] for one in errors] == ([code] if code else [])


def test_act_11_the_steps_of_a_task_are_compared_too_whatever_the_action_requires(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{module}.py").write_text(SOURCE)
    action = {"kind": "python", "implementation": {"function": f"{module}:price"}, "requires": {"type": "object"}}
    task = {"steps": [{"ref": "ask", "action": "price", "input_mapping": {"itm": 1, "item": 2}}]}
    Path("task.json").write_text(json.dumps({"actions": {"price": action}, "tasks": {"buy": task}}))
    assert main(["validate", "task.json"]) == 2
    assert f"the function '{module}:price' has no input 'itm'" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["validate", "deploy"])
def test_act_11_a_module_that_is_not_here_is_a_warning(
    command: str, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """TSK-8: another process may have it."""
    assert main([command, write("price.json", f"{module}:price")]) == 0
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert f"warning function_unknown: nothing here has the module of the function '{module}:price'" in shown
    assert "error" not in shown


def test_act_11_a_module_in_files_root_is_not_read_because_runs_write_it(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(f"work_{module}")
    folder.mkdir()
    (folder / "made.py").write_text("def old(): ...\n")
    file = write("price.json", f"work_{module}.made:price")
    assert main(["validate", file]) == 2
    assert main(["project", "set", "files_root", str(folder)]) == 0
    assert main(["validate", file]) == 0
    assert main(["deploy", file]) == 0
    assert "has no function 'price'" in capsys.readouterr().out


def test_act_11_marks_are_needed_in_the_modules_that_the_operator_names(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In others, a module that marks nothing may be run as a file."""
    Path(f"{module}.py").write_text("def price(item): ...\n")
    text = json.dumps(definition(f"{module}:price", {"item": 1}))
    assert main(["validate", write("price.json", f"{module}:price", {"item": 1})]) == 0
    Path("wonder.toml").write_text(f'modules = ["{module}"]\n')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["validate", "-"]) == 2
    assert "mark it with @wonder.function" in capsys.readouterr().out


async def test_act_11_a_program_checks_the_functions_that_it_registers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    async with wonder.open(url, functions={"shop:price": lambda item: {"cents": len(item)}}) as app:
        with pytest.raises(wonder.DefinitionRefused) as refused:
            await app.deploy(definition("shop:price", {"name": "lamp"}))
        assert [fault.code for fault in refused.value.faults] == ["unknown_field", "missing_input"]
        validated = await wonder.call(
            app, "definitions.validate", files=[{"text": json.dumps(definition("shop:price", {}))}]
        )
        assert not validated["valid"]  # type: ignore[index,call-overload]
        workflow = await app.deploy(definition("shop:price", {"item": "lamp"}))
        assert (await (await app.start(workflow)).wait()).status == "completed"
        # Of a function that this process does not have, nothing is known (TSK-8).
        await app.deploy(definition("elsewhere:price", {"name": "lamp"}))
        unknown: Any = await wonder.call(
            app, "definitions.validate", files=[{"text": json.dumps(definition("elsewhere:price"))}]
        )
        assert unknown["valid"]
        assert [one["type"] for one in unknown["files"][0]["warnings"]] == ["function_unknown"]
