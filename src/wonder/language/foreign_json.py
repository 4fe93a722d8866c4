"""JSON from outside that is read as a Struct: a server's answer, a file that somebody may have changed."""

from typing import TypeVar

import msgspec

from wonder.language.values import BadValue

_Form = TypeVar("_Form")


def read_as(content: bytes | str, form: type[_Form]) -> _Form:
    """Read JSON as what a type says; raises BadValue, whatever the content is."""
    try:
        return msgspec.json.decode(content, type=form)
    except RecursionError:
        # Raised for fields too that the type does not have.
        raise BadValue("nested too deep") from None
    except ValueError as error:
        # DecodeError is one, and so is UnicodeDecodeError, which msgspec raises for texts that are not UTF-8.
        raise BadValue(str(error)) from None
