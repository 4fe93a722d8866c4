"""How long servers ask to be left alone (RET-1)."""

import pytest

from wonder.actions.http.retry_after import retry_after_of


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7_000),
        ({"retry-after": "0.25"}, 250),
        ({"retry-after-ms": "30", "retry-after": "7"}, 30),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 59_000),
        ({"retry-after": "Thu, 01 Jan 1960 00:01:00 GMT"}, 0),
        ({"retry-after": "999999999"}, 86_400_000),
        ({"retry-after": "later"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 5_000}, 86_400_000),
        ({"retry-after": "1." + "9" * 5_000}, 2_000),
        ({"retry-after": " 7 "}, 7_000),
        ({"retry-after": "7."}, 7_000),
        ({"retry-after": ".7"}, None),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "1e5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86_400_000),
        ({"retry-after": "Thu, 99 Jan 1970 00:00:00 GMT"}, None),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7_000),
    ],
)
def test_retry_after_is_seconds_milliseconds_or_a_date(headers: dict[str, str], wait_ms: int | None) -> None:
    """RET-1."""
    assert retry_after_of(headers, 1_000) == wait_ms
