"""The kinds of field that implementations of several kinds of action share."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import Record

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
TemplateText = Annotated[str, Field(max_length=100_000)]
Scope = Literal["workflow", "task"]


def _check_leap_day(moment: str) -> str:
    year = int(moment[:4])
    if moment[4:10] == "-02-29" and (year % 4 or (year % 100 == 0 and year % 400)):
        raise PydanticCustomError(
            "no_such_day", "{year} is no leap year, so it has no 29th of February", {"year": year}
        )
    return moment


_DAY = r"[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]"
Moment = Annotated[
    str,
    Field(pattern=rf"^{_DAY}([T ]{_TIME}(:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]{_TIME})?)?$", max_length=100),
    AfterValidator(_check_leap_day),
]
"""A day, or a point in time, of the calendar."""


def value_or_record(value: object) -> str:
    """Tell a plain value (`value`) from a record (`from_context`), for fields that take either."""
    # Asked about what a person wrote and, when a record is written out again, about the record that it became.
    return "from_context" if isinstance(value, dict | Record) else "value"
