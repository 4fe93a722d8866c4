"""JSON from outside that is read as a Struct: whatever it is, it is read or rejected."""

import msgspec
import pytest

from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue


class Answer(msgspec.Struct):
    """What is asked for."""

    name: str
    count: int = 0


def test_what_fits_is_read_and_what_else_is_there_is_left() -> None:
    assert read_as(b'{"name":"a","count":2,"more":[1]}', Answer) == Answer("a", 2)
    assert read_as('{"name":"é"}', Answer) == Answer("é")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"name":1}',
        b'{"name":"a"',
        b'{"name":"\xff"}',  # a UnicodeDecodeError of msgspec
        b'{"name":"a","more":' + b"[" * 100_000,  # a RecursionError, in a field that nobody reads
        b'{"name":"a","more":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"name":"a","count":' + b"9" * 5_000 + b"}",
        b'{"name":"a","more":"\\ud800"}',
        '{"name":"\ud800"}',
    ],
    ids=range(10),
)
def test_anything_else_is_rejected_with_one_error(content: bytes | str) -> None:
    with pytest.raises(BadValue):
        read_as(content, Answer)
