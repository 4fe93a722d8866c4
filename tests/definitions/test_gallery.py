"""A gallery of broken definitions, and the exact words that a person sees for each (`wonder validate`).

The first line of each file says its code and its cause; a JSON file, which has no comments, has them here. The `.txt`
beside it is what a person should read. Where the program says something else, ask first which of the two is better, and
fix that one: a text that is only copied from the output checks nothing.
"""

from collections import Counter
from pathlib import Path

import apsw
import pytest

from wonder.cli.main import main

GALLERY = Path(__file__).with_name("gallery")
WITHOUT_COMMENTS = {"012-trailing-comma.json": "json_syntax: a comma behind the last member of an object"}
FILES = sorted(path for path in GALLERY.iterdir() if path.suffix in (".yaml", ".json") and path.name[0].isdigit())
TEN_FAULTS = "ten-faults.yaml"
TABLES_OF_A_NEW_DATABASE = {
    "journal",
    "schema_migrations",
    "workspaces",
    "workspace_settings",
    "projects",
    "project_settings",
    # That somebody tried to deploy.
    "audit_records",
}


def told_of(file: Path) -> tuple[str, str]:
    """Give the code and the cause that a file is about."""
    line = WITHOUT_COMMENTS.get(file.name) or file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    code, _, cause = line.partition(": ")
    return code, cause


def is_refused(name: str) -> bool:
    return "✗" in (GALLERY / name).with_suffix(".txt").read_text(encoding="utf-8")


@pytest.fixture
def in_gallery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the gallery's folder, so that its files are shown by their names alone."""
    monkeypatch.chdir(GALLERY)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)


@pytest.mark.parametrize("name", [*(file.name for file in FILES), TEN_FAULTS])
def test_a_broken_definition_is_told_in_these_words(
    name: str, in_gallery: None, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = (GALLERY / name).with_suffix(".txt").read_text(encoding="utf-8")
    status = main(["validate", name])
    assert capsys.readouterr().out == expected
    assert status == (2 if is_refused(name) else 0)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_file_has_the_one_fault_that_it_says_and_no_consequences(file: Path) -> None:
    code, _ = told_of(file)
    text = file.with_suffix(".txt").read_text(encoding="utf-8")
    found = [line.split(": ")[1] for line in text.splitlines() if line.startswith(f"{file.name}:")]
    assert [word.split()[-1] for word in found] == [code]


def test_no_two_files_have_the_same_code_and_cause() -> None:
    pairs = Counter(map(told_of, FILES))
    assert len(pairs) >= 40
    assert not [pair for pair, count in pairs.items() if count > 1]
    assert all(code and cause for code, cause in pairs)
    assert len({code for code, _ in pairs}) >= 40


def test_every_text_belongs_to_a_file() -> None:
    texts = {path.stem for path in GALLERY.glob("*.txt")}
    assert texts == {file.stem for file in FILES} | {Path(TEN_FAULTS).stem}


def test_ten_faults_are_all_told_at_once_in_the_order_of_the_text() -> None:
    text = (GALLERY / "ten-faults.txt").read_text(encoding="utf-8")
    heads = [line.split(":") for line in text.splitlines() if line.startswith(TEN_FAULTS)]
    codes = [head[3].split()[1] for head in heads]
    lines = [int(head[1]) for head in heads]
    assert len(codes) == len(set(codes)) == 10
    assert lines == sorted(lines)


def test_a_file_with_errors_stores_nothing_at_all(
    in_gallery: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "gallery.db"
    refused = [name for name in [*(file.name for file in FILES), TEN_FAULTS] if is_refused(name)]
    assert main(["deploy", "--db", f"sqlite:///{database}", *refused]) == 2
    shown = capsys.readouterr().out
    assert all(f"✗ {name}: " in shown for name in refused)
    assert shown.count("; nothing was stored\n") == len(refused)
    connection = apsw.Connection(str(database))
    tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert {"workflow_defs", "task_defs", "action_defs", "workflows", "prompt_specs", "libraries"} < set(tables)
    for table in set(tables) - TABLES_OF_A_NEW_DATABASE:
        assert connection.execute(f'SELECT count(*) FROM "{table}"').get == 0, table
    connection.close()


def test_a_file_with_warnings_only_can_be_stored(
    in_gallery: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warned = [file.name for file in FILES if not is_refused(file.name)]
    assert len(warned) >= 10
    for number, name in enumerate(warned):
        assert main(["deploy", "--db", f"sqlite:///{tmp_path / str(number)}.db", name]) == 0
    assert "✗" not in capsys.readouterr().out
