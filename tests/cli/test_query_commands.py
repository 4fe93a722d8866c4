"""`wonder query` as a person and a program see it (SPEC 13)."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from wonder.cli import query
from wonder.cli.main import main
from wonder.cli.output import print_table, visible
from wonder.cli.settings import reader_setting
from wonder.operations import queries
from wonder.storage.reading import Answer


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory with a database of its own."""
    monkeypatch.chdir(tmp_path)
    assert main(["db", "migrate"]) == 0


def answering(monkeypatch: pytest.MonkeyPatch, *rows: list[object]) -> None:
    """Have every query answered with these rows."""

    async def answer(*_: Any) -> Answer:
        return Answer([f"c{number}" for number in range(len(rows[0]))], list(rows), None)

    monkeypatch.setattr(queries, "read_only_query", answer)


def test_tables_and_functions_can_be_listed(database: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--tables"]) == 0
    listed = capsys.readouterr().out
    assert "run_log " in listed
    assert "secrets" not in listed
    assert main(["query", "--tables", "--json"]) == 0
    tables = {table["name"]: table["columns"] for table in json.loads(capsys.readouterr().out)}
    assert tables["run_log"][:2] == ["id", "status"]
    assert main(["query", "--functions"]) == 0
    assert "json_extract" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no query was given"),
        (["SELECT * FROM secrets"], "`wonder query --tables` lists what can be"),
        (["SELECT zeroblob(1)"], "`wonder query --functions` lists those that can"),
        (["SELECT * FROM run_logs"], "no such table: run_logs; `wonder query --tables` lists"),
        (["SELECT 1", "--limit", "-1"], "a limit of -1 rows is not possible; give 0 to 10,000,000"),
        (["SELECT 1", "--seconds", "inf"], "a time limit of inf seconds is not possible"),
    ],
)
def test_a_refusal_says_what_is_possible(
    database: None, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["query", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_time_limit_includes_making_the_result_readable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit of 30 seconds let a query take 44."""
    clock = iter(range(100))
    monkeypatch.setattr(query.time, "monotonic", lambda: next(clock))
    answering(monkeypatch, *[["x"]] * 10)
    assert main(["query", "SELECT 1", "--seconds", "5"]) == 2
    assert "took longer than 5 seconds" in capsys.readouterr().err


def test_one_wide_cell_does_not_widen_every_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A thousand rows with one cell of a megabyte were a gigabyte of spaces."""
    answering(monkeypatch, ["x" * 1_000_000, "y"], *[["z", "y"]] * 1_000)
    assert main(["query", "SELECT 1"]) == 0
    assert len(capsys.readouterr().out) < 2_000_000


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert visible("a\x1b[31m\tb\u202eé\n\U0001f600") == "a\\x1b[31m\\tb\\u202eé\\n\U0001f600"
    many = "".join(map(chr, range(0x2000)))
    assert visible(many) == "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in many)


def test_the_names_of_columns_are_written_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a\x1b[31m"], [["b"]])
    assert "\x1b" not in capsys.readouterr().out


def test_queries_use_the_readers_url_unless_another_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_READER_URL", raising=False)
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///a.db")
    assert reader_setting(None).value == "sqlite:///a.db"
    (tmp_path / "wonder.toml").write_text('reader_url = "postgresql://reader@host/b"')
    assert reader_setting(None).value == "postgresql://reader@host/b"
    monkeypatch.setenv("WONDER_READER_URL", "postgresql://reader@host/c")
    assert reader_setting(None).origin == "WONDER_READER_URL"
    assert reader_setting("sqlite:///d.db").value == "sqlite:///d.db"


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("1 AS id, 2 AS id", {"id": 1, "id_2": 2}),
        ("1 AS id, 2 AS id, 3 AS id", {"id": 1, "id_2": 2, "id_3": 3}),
        ("1 AS id, 2 AS id, 3 AS id_2", {"id": 1, "id_3": 2, "id_2": 3}),
        ("1 AS id_2, 2 AS id, 3 AS id, 4 AS id_2", {"id_2": 1, "id": 2, "id_3": 3, "id_2_2": 4}),
    ],
)
def test_a_program_gets_every_column_when_several_have_the_same_name(
    database: None, capsys: pytest.CaptureFixture[str], columns: str, told: dict[str, int]
) -> None:
    capsys.readouterr()
    assert main(["query", f"SELECT {columns}", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == [told]
    assert shown["columns"] == list(told)


def test_cmd_6_times_of_postgresql_are_printed_as_sqlite_has_them(
    database: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at = datetime(2026, 5, 6, 9, 8, 7, 120_000, timezone(timedelta(hours=2)))
    answering(monkeypatch, [at, at.replace(microsecond=1), datetime(2026, 5, 6)])
    assert main(["query", "SELECT 1", "--json"]) == 0
    shown = [*json.loads(capsys.readouterr().out)["rows"][0].values()]
    assert shown == ["2026-05-06T07:08:07.120Z", "2026-05-06T07:08:07.000001Z", "2026-05-06 00:00:00"]
