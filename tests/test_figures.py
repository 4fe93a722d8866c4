"""Figures of the source: no long files or functions, no SQL, no import inside a function without its reason.

`make check` holds that no modules import each other in a circle. The exceptions here are to become fewer.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/wonder"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# What SQL is made in while Wonder runs, because its tables, columns or roles are not known before.
GENERATES_SQL = {
    "checker/contexts.py",  # reads the generated context tables, and shares no code with what makes them
    "storage/copying.py",  # copies tables whose columns it asks the database for
    "storage/postgresql/commits.py",  # makes one statement of the named ones of a commit
    "storage/postgresql/querying.py",  # measures the rows of a query that a user wrote
    "storage/postgresql/reader_role.py",  # grants tables to a role
}
# These rooms have nothing to do with the database's rows, or with generated tables alone, whose columns have no names.
PURE = ("language/", "definitions/", "phases/", "engine/", "context/")
NUMBERED_COLUMNS = {"checker/contexts.py"}
SQL = re.compile(
    r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|GRANT|REVOKE|PRAGMA|VACUUM|TRUNCATE|LOCK)\s+(.?)"
)


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


def sql_in(module: str) -> list[str]:
    """Find strings that begin as a statement of SQL does, docstrings left out; BEGIN, COMMIT and ROLLBACK are none."""
    tree = parsed(module)[1]
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docstrings = {id(one.value) for one in statements}
    # In these the rest may be a value; alone, a first word is only compared with.
    formatted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    return [
        f"{module}:{node.lineno}: {node.value[:40]}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if (begun := SQL.match(node.value)) and (begun[2] or id(node) in formatted)
    ]


def test_no_file_is_longer_than_400_lines() -> None:
    long = {module for module in MODULES if len(parsed(module)[0]) > FILE_LINES_MAX}
    assert long == set(), "make two modules of it"


def test_no_function_is_longer_than_60_lines_but_flat_matches() -> None:
    long = {name for module in MODULES for name in long_functions(module)}
    assert long == set(), "make two functions of it"


def test_an_import_inside_a_function_says_why() -> None:
    found = [one for module in MODULES for one in imports_without_reason(module)]
    assert found == [], "say in a comment above it why it is not at the top of the module"


def test_sql_is_in_sql_files_but_for_what_is_generated() -> None:
    fixed = [module for module in MODULES if not module.startswith("context/") and module not in GENERATES_SQL]
    assert [one for module in fixed for one in sql_in(module)] == [], "name it in a file of storage/sql"
    assert [module for module in sorted(GENERATES_SQL) if not sql_in(module)] == [], "it has no SQL any more"


def columns_by_position(module: str) -> list[str]:
    """Find columns of rows that are read by a number: `row[6]`, `rows[0][1]`. The only column of a row may be."""
    found = []
    for node in ast.walk(parsed(module)[1]):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            text, number = ast.unparse(node.value), ast.unparse(node.slice)
            is_row = text == "row" or re.fullmatch(r"\w+\[-?\d+\]", text)
            if is_row and re.fullmatch(r"-?\d+", number) and number != "0":
                found.append(f"{module}:{node.lineno}: {text}[{number}]")
    return found


def test_columns_are_read_by_name() -> None:
    read = [module for module in MODULES if not module.startswith(PURE) and module not in NUMBERED_COLUMNS]
    found = [one for module in read for one in columns_by_position(module)]
    assert found == [], "use fetch_named, or give the columns names: `for id, name in rows`"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('x = "SELECT 1"', True),
        ('x = f"DELETE FROM {table}"', True),
        ('x = "\\n  UPDATE runs SET x = 1"', True),
        ('x = sql.startswith("UPDATE ")', False),
        ('x = "write one SELECT"', False),
        ('"""SELECT in a docstring."""', False),
    ],
)
def test_sql_is_really_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_found: bool) -> None:
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    (tmp_path / "one.py").write_text(text)
    assert bool(sql_in("one.py")) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("x = row[6]", True), ("x = rows[0][1]", True), ("x = row['name']", False), ("x = rows[0][0]", False)],
)
def test_columns_by_position_are_really_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_found: bool
) -> None:
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    (tmp_path / "one.py").write_text(text)
    assert bool(columns_by_position("one.py")) is is_found


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
