"""Where functions are found, and what can't be called (SPEC 8, `python`)."""

import importlib.metadata
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wonder.actions import functions
from wonder.actions.functions import FunctionRegistry
from wonder.actions.protocol import ActionFailed


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with modules of a user's own; what was imported from it is forgotten in the end."""
    (tmp_path / "wonder_test_greetings.py").write_text(
        "import wonder_test_names\n"
        "def say(): return 'hello ' + wonder_test_names.NAME\n"
        "class Polite:\n    @staticmethod\n    def say(): return 'good day'\n"
        "number = 3\n"
    )
    (tmp_path / "wonder_test_names.py").write_text("NAME = 'Ada'\n")
    (tmp_path / "wonder_test_exits.py").write_text("raise SystemExit('bye')\n")
    (tmp_path / "wonder_test_syntax.py").write_text("def (:\n")
    (tmp_path / "wonder_test_package").mkdir()
    (tmp_path / "wonder_test_package" / "__init__.py").write_text("")
    (tmp_path / "wonder_test_package" / "inner.py").write_text("def f(): return 'inner'\n")
    (tmp_path / "json.py").write_text("def loads(**_): return 'not the real one'\n")
    paths, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        if name.startswith("wonder_test"):
            del sys.modules[name]


def test_a_registered_function_is_found_by_its_name() -> None:
    """The last one registered wins."""
    registry = FunctionRegistry()
    registry.register("shop:charge", lambda: 1)
    registry.register("shop:charge", lambda: 2)
    assert registry.find("shop:charge").call() == 2
    assert registry.known("shop:refund") is None


@pytest.mark.parametrize("name", ["os:system", "subprocess:run", "builtins:eval", "wonder.errors:WonderError"])
def test_on_a_server_nothing_can_be_called_that_was_not_allowed(name: str, tmp_path: Path) -> None:
    """Nor in a local run, unless it is in the folder."""
    for registry in (FunctionRegistry(), FunctionRegistry(import_roots=[tmp_path])):
        with pytest.raises(ActionFailed, match="no function") as caught:
            registry.find(name)
        assert caught.value.code == "UNKNOWN_FUNCTION"
        assert not caught.value.retryable


def test_functions_of_allowed_modules_can_be_called() -> None:
    """And of the modules of an allowed package; not of one whose name only begins alike."""
    registry = FunctionRegistry(allowed_modules=["json", "os.path"])
    assert registry.find("json:dumps").call(obj=1) == "1"
    assert registry.find("json.decoder:JSONDecoder")
    for name in ("os:system", "jsonschema_rs:validator_for"):
        with pytest.raises(ActionFailed):
            registry.find(name)


@pytest.mark.parametrize(
    ("value", "allowed"), [("string:capwords", True), ("string", True), ("string:Template", False)]
)
def test_a_package_announces_functions_or_modules(monkeypatch: pytest.MonkeyPatch, value: str, allowed: bool) -> None:
    """By entry points of the group `wonder.functions`."""
    point = importlib.metadata.EntryPoint("any", value, functions.ENTRY_POINTS)
    monkeypatch.setattr(functions, "entry_points", lambda group: [point] if group == "wonder.functions" else [])
    registry = FunctionRegistry()
    if allowed:
        assert registry.find("string:capwords").call(s="a b") == "A B"
    else:
        with pytest.raises(ActionFailed):
            registry.find("string:capwords")


@pytest.mark.parametrize(
    ("name", "returned"),
    [
        ("wonder_test_greetings:say", "hello Ada"),
        ("wonder_test_greetings:Polite.say", "good day"),
        ("wonder_test_package.inner:f", "inner"),
    ],
)
def test_a_local_run_imports_from_the_folder_of_its_file(folder: Path, name: str, returned: str) -> None:
    """With what stands beside it."""
    assert FunctionRegistry(import_roots=[folder]).find(name).call() == returned


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("wonder_test_greetings:shout", "UNKNOWN_FUNCTION", "has no shout"),
        ("wonder_test_greetings:number", "UNKNOWN_FUNCTION", "can't be called"),
        ("wonder_test_absent:f", "UNKNOWN_FUNCTION", "no function"),
        ("wonder_test_package.absent:f", "FUNCTION_IMPORT_FAILED", "ModuleNotFoundError"),
        ("wonder_test_exits:f", "FUNCTION_IMPORT_FAILED", "SystemExit: bye"),
        ("wonder_test_syntax:f", "FUNCTION_IMPORT_FAILED", "SyntaxError"),
        ("json:loads", "FUNCTION_IMPORT_FAILED", "is already"),
    ],
)
def test_what_cannot_be_found_or_imported_says_why(folder: Path, name: str, code: str, reason: str) -> None:
    """Each time anew, since a module can be mended meanwhile."""
    registry = FunctionRegistry(import_roots=[folder])
    for _ in range(2):
        with pytest.raises(ActionFailed, match=reason) as caught:
            registry.find(name)
        assert caught.value.code == code


def test_a_file_of_the_users_never_takes_the_place_of_a_module_of_python(folder: Path) -> None:
    """The folder comes last."""
    FunctionRegistry(import_roots=[folder]).find("wonder_test_greetings:say")
    assert sys.path[-1] == str(folder)


def test_a_module_that_many_threads_ask_for_at_once_is_loaded_once_and_whole(tmp_path: Path) -> None:
    (tmp_path / "wonder_test_slow.py").write_text("import time\ntime.sleep(0.2)\n\n\ndef late():\n    return 1\n")
    registry = FunctionRegistry(import_roots=[tmp_path])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: registry.find("wonder_test_slow:late"), range(8)))
    assert len({id(function) for function in found}) == 1
