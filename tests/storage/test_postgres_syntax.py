"""Parsing queries for PostgreSQL: what takes its scanner long is refused before it is scanned."""

import pytest

from wonder.storage.postgresql.query_syntax import parse_select
from wonder.storage.querying.answers import SQL_BYTES_MAX
from wonder.storage.reading import QueryRefused


@pytest.mark.parametrize("unit", ["/*", "/**/", "*/", "+-", "<=>"])
def test_a_long_row_of_signs_is_refused(unit: str) -> None:
    with pytest.raises(QueryRefused, match="signs of operators in a row"):
        parse_select(f"SELECT 1 {unit * (SQL_BYTES_MAX // len(unit))}")


def test_long_comments_and_operators_are_possible() -> None:
    ruler = "-" * 500
    assert parse_select(f"{ruler}\nSELECT 1 + -2 /* {'*' * 500} */ {ruler}\n").names == frozenset()


def test_a_query_with_a_nul_is_refused() -> None:
    """The parser would stop at it, and the server be sent more than was parsed."""
    with pytest.raises(QueryRefused, match=r"U\+0000"):
        parse_select("SELECT 1\0, pg_sleep(5)")
