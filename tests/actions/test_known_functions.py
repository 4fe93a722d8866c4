"""ACT-11: what is known of a function without importing its module, and where nothing is."""

import sys
from pathlib import Path
from uuid import uuid4

import pytest

from wonder.actions.functions.functions import FunctionRegistry
from wonder.definitions.catalog import KnownFunction


@pytest.fixture
def module() -> str:
    # Another name each time: a module of this name must not be imported already.
    return f"shop_{uuid4().hex}"


def looked_at(
    folder: Path, module: str, source: str, name: str = "price", *, named: bool = False
) -> KnownFunction | None:
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    modules = [module] if named else []
    known = FunctionRegistry(modules, [] if named else [folder], [folder]).look_at(f"{module}:{name}")
    assert module not in sys.modules
    return known


@pytest.mark.parametrize(
    ("source", "takes", "needs", "takes_more"),
    [
        ("def price(item, currency='EUR'): ...", ["item", "currency"], ["item"], False),
        ("async def price(*items, item, net=False): ...", ["item", "net"], ["item"], False),
        ("def price(hidden=1, /, item=2, **more): ...", ["item"], [], True),
        ("import wonder as w\n@w.function(quick=True)\ndef price(item): ...", ["item"], ["item"], False),
        ("from wonder import function as f\n@f\ndef price(item): ...", ["item"], ["item"], False),
        ("raise SystemExit\ndef price(): ...", [], [], False),
    ],
)
def test_act_11_the_arguments_are_read_from_the_source(
    source: str, takes: list[str], needs: list[str], takes_more: bool, tmp_path: Path, module: str
) -> None:
    known = looked_at(tmp_path, module, source)
    assert known is not None
    assert not known.refusal
    assert known.takes == {
        "type": "object",
        "properties": {name: {} for name in takes},
        "required": needs,
        "additionalProperties": takes_more,
    }


@pytest.mark.parametrize(
    ("source", "named", "refusal"),
    [
        ("def prices(): ...", False, "has no function 'price'"),
        ("", False, "has no function 'price'"),
        ("def other():\n    price = 1\n    return price", False, "has no function 'price'"),
        ("def price(): ...", True, "is not marked"),
        ("__all__ = ['other']\ndef price(): ...", False, "is not marked"),
        ("import wonder\n@wonder.function\ndef other(): ...\ndef price(): ...", False, "is not marked"),
        ("def price(item, /): ...", False, "takes 'item' by position only"),
    ],
)
def test_act_11_a_call_that_is_certain_to_fail_is_refused(
    source: str, named: bool, refusal: str, tmp_path: Path, module: str
) -> None:
    known = looked_at(tmp_path, module, source, named=named)
    assert known is not None
    assert refusal in known.refusal
    assert known.hint


@pytest.mark.parametrize(
    "source",
    [
        "from os.path import *",
        "from os.path import join as price",
        "def __getattr__(name): ...",
        "globals()['price'] = print",
        "price = print",
        "price: object = print",
        "(price := print)",
        "if True:\n    def price(): ...",
        "try:\n    from fast import price\nexcept ImportError:\n    def price(): ...",
        "def price(a): ...\ndef price(b): ...",
        "def price(a): ...\nprice = print",
        "def make():\n    global price\n    price = print\nmake()",
        "import functools\n@functools.cache\ndef price(a): ...",
        "import wonder, functools\n@wonder.function\n@functools.cache\ndef price(a): ...",
        "class price: ...",
        "for price in [print]: ...",
        "import sys\nsys.modules[__name__].price = print",
        # Broken or hostile, which is told when somebody calls it.
        "def price(:",
        "x = " + "(" * 100_000,
        "x = " + "-" * 100_000 + "1",
        "x = 1" + " + 1" * 50_000,
        "\0",
        "# coding: nonsense\n",
        "#" * 500_001,
    ],
)
def test_act_11_nothing_is_said_where_nothing_is_certain(source: str, tmp_path: Path, module: str) -> None:
    assert looked_at(tmp_path, module, source) is None


@pytest.mark.parametrize(
    "source",
    [
        "__all__ = ['price']\ndef price(): ...",
        "__all__ = ['other']\n__all__ += ['price']\ndef price(): ...",
        "__all__ = ['other']\n__all__.append('price')\ndef price(): ...",
        "__all__ = [*'ab']\ndef price(): ...",
        "import wonder\ndef price(): ...\nwonder.function(price)",
        "import wonder\ndef price(): ...\nfor one in (price,):\n    wonder.function(one)",
    ],
)
def test_act_11_what_is_marked_in_another_way_is_not_refused(source: str, tmp_path: Path, module: str) -> None:
    known = looked_at(tmp_path, module, source, named=True)
    assert known is not None
    assert not known.refusal


def test_act_11_a_module_in_a_package_is_found_without_importing_the_package(tmp_path: Path, module: str) -> None:
    folder = tmp_path / module
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "orders.py").write_text("def price(item): ...")
    registry = FunctionRegistry(import_roots=[tmp_path])
    known = registry.look_at(f"{module}.orders:price")
    assert known is not None
    assert known.takes["required"] == ["item"]
    missing = registry.look_at(f"{module}:price")
    assert missing is not None
    assert "has no function" in missing.refusal
    absent = registry.look_at(f"{module}.absent:price")
    assert absent is not None
    assert not absent.refusal
    assert absent.doubt
    assert not [name for name in sys.modules if name.startswith(module)]


def test_act_11_a_registered_function_is_asked_itself(tmp_path: Path) -> None:
    class Callable:
        def __call__(self, item: str) -> None: ...

    registry = FunctionRegistry()
    registry.register("shop:price", lambda item, net=False: None)
    registry.register("shop:object", Callable())
    registry.register("shop:builtin", len)
    known = registry.look_at("shop:price")
    assert known is not None
    assert known.takes["required"] == ["item"]
    assert registry.look_at("shop:object") is None
    assert registry.look_at("shop:builtin") is None
    absent = registry.look_at("shop:absent")
    assert absent is not None
    assert "nothing here has the module" in absent.doubt


def test_act_11_of_a_module_that_is_imported_the_functions_themselves_are_asked(
    tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{module}.py").write_text("import wonder\n@wonder.function\ndef price(item): ...\ndef other(): ...\n")
    registry = FunctionRegistry([module], [], [tmp_path])
    registry.find(f"{module}:price")
    fresh = FunctionRegistry([module], [], [tmp_path])
    known, other, absent = (fresh.look_at(f"{module}:{name}") for name in ("price", "other", "absent"))
    assert known is not None
    assert known.takes["required"] == ["item"]
    assert other is not None
    assert "is not marked" in other.refusal
    assert absent is not None
    assert "has no absent" in absent.refusal
    monkeypatch.setattr(sys.modules[module], "__file__", "elsewhere.py")
    assert fresh.look_at(f"{module}:price") is None


@pytest.mark.parametrize(
    ("module_name", "is_absent"), [("sys", False), ("json", False), ("no_such_module", True), ("json.no_such", True)]
)
def test_act_11_a_module_that_is_named_is_looked_for_on_pythons_own_path(module_name: str, is_absent: bool) -> None:
    known = FunctionRegistry([module_name]).look_at(f"{module_name}:price")
    assert (known is not None and bool(known.doubt)) == is_absent
