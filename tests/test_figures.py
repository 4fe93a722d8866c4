"""Figures of the source: no long files, no long functions, and no import inside a function without its reason.

`make check` holds that no modules import each other in a circle. The exceptions here are to become fewer.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/wonder"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

LONG_FILES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()
# In these rooms some imports inside functions still lack their reason.
ROOMS_WITHOUT_REASONS = {"actions", "app", "cli", "storage"}


def parsed(module: str) -> tuple[list[str], ast.Module]:
    text = (SOURCE / module).read_text()
    return text.splitlines(), ast.parse(text)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_flat_match(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is one `match`, with little before it and nothing nested deeper than its cases."""
    *before, last = function.body
    if not isinstance(last, ast.Match) or len(before) > 3:
        return False
    nested = (ast.Match, ast.For, ast.While, ast.With, ast.Try)
    return not any(isinstance(inner, nested) for case in last.cases for one in case.body for inner in ast.walk(one))


def long_functions(module: str) -> set[str]:
    return {
        f"{module}:{function.name}"
        for function in functions(parsed(module)[1])
        if (function.end_lineno or 0) - function.lineno >= FUNCTION_LINES_MAX and not is_flat_match(function)
    }


def imports_without_reason(module: str) -> list[str]:
    """Find imports in functions without a reason: a comment on or above them, or a word in the module's docstring."""
    lines, tree = parsed(module)
    if "import" in (ast.get_docstring(tree) or ""):
        return []
    found = set()
    for function in functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                above = node.lineno - 2
                while lines[above].strip().startswith(("import ", "from ")):
                    above -= 1
                own = lines[node.lineno - 1 : node.end_lineno]
                if not lines[above].strip().startswith("#") and not any("#" in line for line in own):
                    found.add(f"{module}:{node.lineno}: {lines[node.lineno - 1].strip()}")
    return sorted(found)


def test_no_file_is_longer_than_400_lines() -> None:
    long = {module for module in MODULES if len(parsed(module)[0]) > FILE_LINES_MAX}
    assert long <= LONG_FILES, "make two modules of it"


def test_no_function_is_longer_than_60_lines_but_flat_matches() -> None:
    long = {name for module in MODULES for name in long_functions(module)}
    assert long <= LONG_FUNCTIONS, "make two functions of it"


def test_an_import_inside_a_function_says_why() -> None:
    held = [module for module in MODULES if module.split("/")[0] not in ROOMS_WITHOUT_REASONS]
    found = [one for module in held for one in imports_without_reason(module)]
    assert found == [], "say in a comment above it why it is not at the top of the module"


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("    import os\n", True),
        ("    # Heavy, and rarely needed.\n    import os\n    import sys\n", False),
        ("    import os  # heavy\n", False),
    ],
)
def test_these_figures_are_really_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, is_found: bool
) -> None:
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    (tmp_path / "one.py").write_text("def f():\n" + body)
    assert bool(imports_without_reason("one.py")) is is_found
    lines = "".join(f"    x = {n}\n" for n in range(FUNCTION_LINES_MAX))
    (tmp_path / "two.py").write_text(f"def short():\n{lines[: -len('    x = 59') - 1]}\n\ndef long():\n{lines}")
    assert long_functions("two.py") == {"two.py:long"}
    cases = "".join(f"        case {n}:\n            return {n}\n" for n in range(FUNCTION_LINES_MAX))
    (tmp_path / "three.py").write_text(f"def flat(x):\n    match x:\n{cases}")
    assert long_functions("three.py") == set()
