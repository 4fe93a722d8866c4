"""Where functions are found, and what can't be called (ACT-10, `python`)."""

import importlib.metadata
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wonder.actions.functions import functions
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.functions.marked import function
from wonder.actions.protocol import ActionFailed


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with modules of a user's own; what was imported from it is forgotten in the end."""
    (tmp_path / "wonder_test_greetings.py").write_text(
        "import wonder_test_names\n"
        "def say(): return 'hello ' + wonder_test_names.NAME\n"
        "class Polite:\n    @staticmethod\n    def say(): return 'good day'\n"
        "number = 3\n"
        "import os\n"
    )
    (tmp_path / "wonder_test_billing.py").write_text(
        "import wonder\n@wonder.function\ndef marked_elsewhere(): return 1\n"
    )
    (tmp_path / "wonder_test_orders.py").write_text(
        "import functools, os, wonder\n"
        "from os import system\n"
        "from wonder_test_billing import marked_elsewhere\n"
        "class Tool:\n    @staticmethod\n    def shout(): return 1\n    def __call__(self): return 1\n"
        "tool = Tool()\n"
        "part = functools.partial(os.system, 'true')\n"
        "@functools.wraps(os.system)\ndef wrapped(command): return 1\n"
        "def helper(): return 1\n"
        "@wonder.function\ndef _hidden(): return 1\n"
        "@wonder.function\ndef price(n): return 2 * n\n"
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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wonder_test_orders:os.system", "not the name of a function of a module"),
        ("wonder_test_orders:Tool.shout", "not the name of a function of a module"),
        ("wonder_test_orders:tool.shout", "not the name of a function of a module"),
        ("wonder_test_orders:price.__globals__.get", "private"),
        ("wonder_test_orders:__builtins__", "private"),
        ("wonder_test_orders:__builtins__.eval", "private"),
        ("wonder_test_orders:_hidden", "private"),
        ("wonder_test_orders:os", "is a module, not a function"),
        ("wonder_test_orders:Tool", "is a class, not a function"),
        ("wonder_test_orders:tool", "is an object of the class Tool, not a function"),
        ("wonder_test_orders:part", "is an object of the class partial, not a function"),
        ("wonder_test_orders:system", "is defined in posix, not in"),
        ("wonder_test_orders:wrapped", "is defined in posix, not in"),
        ("wonder_test_orders:marked_elsewhere", "is defined in wonder_test_billing, not in"),
        ("wonder_test_orders:eval", "has no eval"),
        ("wonder_test_orders:ｐrice", "has no"),
        ("wonder_test_orders:", "has no"),
        ("wonder_test_orders.os:system", "no function"),
        ("wonder_test_orders.__main__:f", "private"),
        ("wonder_test_orders:helper", "is not marked"),
    ],
)
@pytest.mark.parametrize("source", ["modules", "import_roots"])
def test_only_marked_functions_that_a_module_defines_itself_can_be_called(
    folder: Path, name: str, reason: str, source: str
) -> None:
    """Whatever else the module has imported or made; in a module that marks some, in a local run too."""
    if source == "modules":
        registry = FunctionRegistry(["wonder_test_orders"], module_folders=[folder])
    else:
        registry = FunctionRegistry(import_roots=[folder])
        reason = "Error" if reason == "no function" else reason
    assert registry.find("wonder_test_orders:price").call(n=2) == 4
    with pytest.raises(ActionFailed, match=reason):
        registry.find(name)
    if source == "modules":
        with pytest.raises(ActionFailed, match="no function"):
            registry.find("wonder_test_billing:marked_elsewhere")


def test_a_module_may_list_its_functions_in_all_instead_of_marking_them(folder: Path) -> None:
    """Nothing but functions that are defined there or, in a package, inside of it."""
    (folder / "wonder_test_package" / "__init__.py").write_text(
        "import os, json\nfrom wonder_test_package.inner import f\nfrom os import system\nfrom json import dumps\n"
        "__all__ = ['f', 'system', 'dumps', 'os', 'lazy']\ndef other(): pass\n"
        "def __getattr__(name):\n    if name == 'lazy': return f\n    raise SystemExit(name)\n"
    )
    registry = FunctionRegistry(["wonder_test_package"], module_folders=[folder])
    assert registry.find("wonder_test_package:f").call() == "inner"
    assert registry.find("wonder_test_package:lazy").call() == "inner"
    for name in ("system", "dumps", "os", "other", "made_up"):
        with pytest.raises(ActionFailed) as caught:
            registry.find(f"wonder_test_package:{name}")
        assert caught.value.code == "UNKNOWN_FUNCTION"
    # What is in the package is a module of its own: to import it would run its code.
    with pytest.raises(ActionFailed, match=r"--module wonder_test_package\.inner"):
        registry.find("wonder_test_package.inner:f")


def test_a_text_is_not_a_list_of_modules() -> None:
    with pytest.raises(TypeError, match="list of names"):
        FunctionRegistry("os")


def test_a_text_as_all_lists_nothing(folder: Path) -> None:
    (folder / "wonder_test_names.py").write_text("__all__ = 'name'\ndef name(): pass\ndef n(): pass\n")
    registry = FunctionRegistry(["wonder_test_names"], module_folders=[folder])
    for name in ("name", "n"):
        with pytest.raises(ActionFailed, match="not marked"):
            registry.find(f"wonder_test_names:{name}")


def test_functions_of_a_module_that_marks_none_can_be_called_in_a_local_run_only(folder: Path) -> None:
    """The error says how to mark it."""
    for name in ("say", "Polite", "number", "os"):
        with pytest.raises(ActionFailed) as caught:
            FunctionRegistry(["wonder_test_greetings"], module_folders=[folder]).find(f"wonder_test_greetings:{name}")
        assert caught.value.code == "UNKNOWN_FUNCTION"
        if name == "say":
            assert "mark it with @wonder.function, or list it in the module's __all__" in str(caught.value)
    assert FunctionRegistry(import_roots=[folder]).find("wonder_test_greetings:say").call() == "hello Ada"


@pytest.mark.parametrize(
    ("value", "allowed"),
    [("string:capwords", True), ("string:capwords [extra]", True), ("string", True), ("string:Template", False)],
)
def test_a_package_announces_functions_or_modules(monkeypatch: pytest.MonkeyPatch, value: str, allowed: bool) -> None:
    """By entry points of the group `wonder.functions`; of a module, what its `__all__` lists."""
    point = importlib.metadata.EntryPoint("any", value, functions.ENTRY_POINTS)
    monkeypatch.setattr(functions, "entry_points", lambda group: [point] if group == "wonder.functions" else [])
    registry = FunctionRegistry()
    if allowed:
        assert registry.find("string:capwords").call(s="a b") == "A B"
    else:
        with pytest.raises(ActionFailed):
            registry.find("string:capwords")
    with pytest.raises(ActionFailed):
        registry.find("string:_re.compile")


@pytest.mark.parametrize(
    ("name", "returned"), [("wonder_test_greetings:say", "hello Ada"), ("wonder_test_package.inner:f", "inner")]
)
def test_a_local_run_imports_from_the_folder_of_its_file(folder: Path, name: str, returned: str) -> None:
    """With what stands beside it."""
    assert FunctionRegistry(import_roots=[folder]).find(name).call() == returned


def test_a_registered_function_is_never_replaced_by_one_of_a_module(folder: Path) -> None:
    registry = FunctionRegistry(["wonder_test_orders"], import_roots=[folder], module_folders=[folder])
    registry.register("wonder_test_orders:price", lambda n: "registered")
    assert registry.find("wonder_test_orders:price").call(n=2) == "registered"


def test_a_mark_may_say_that_a_function_is_quick() -> None:
    """An object that makes up every attribute is not marked."""
    registry = FunctionRegistry()
    for name, call, quick in (
        ("a:plain", function(lambda: 1), False),
        ("a:quick", function(quick=True)(lambda: 1), True),
        ("a:magic", type("Magic", (), {"__getattr__": lambda self, name: self, "__call__": lambda self: 1})(), False),
    ):
        registry.register(name, call)
        assert registry.find(name).is_quick is quick


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("wonder_test_greetings:shout", "UNKNOWN_FUNCTION", "has no shout"),
        ("wonder_test_greetings:number", "UNKNOWN_FUNCTION", "not a function"),
        ("wonder_test_absent:f", "UNKNOWN_FUNCTION", "no function"),
        ("wonder_test_package.absent:f", "FUNCTION_IMPORT_FAILED", "ModuleNotFoundError"),
        ("wonder_test_exits:f", "FUNCTION_IMPORT_FAILED", "SystemExit: bye"),
        ("wonder_test_syntax:f", "FUNCTION_IMPORT_FAILED", "SyntaxError"),
        ("json:loads", "FUNCTION_IMPORT_FAILED", "is already"),
    ],
)
def test_what_cannot_be_found_or_imported_says_why(folder: Path, name: str, code: str, reason: str) -> None:
    """Each time anew, since a module can be fixed meanwhile."""
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
