"""The base of every record, and the kinds of field that records share."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError


class Record(BaseModel):
    """A record is strict (a text is never taken for a number), has no unknown fields, and never changes."""

    secret_fields: ClassVar[frozenset[str]] = frozenset()
    """The fields that go out, and so may hold `{{secrets.NAME}}` (INV-8)."""

    # Built when it is first used: building all of them takes 60 ms, and a process uses few.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, validate_default=False, defer_build=True)


def _check_name(name: str) -> str:
    if name != name.strip():
        raise PydanticCustomError("bad_name", "a name can't begin or end with a space")
    if not name.isprintable():
        raise PydanticCustomError("bad_name", "a name can't contain control characters or line breaks")
    # `library/name@version` is how a reference is written, so neither sign can be part of a name.
    if "/" in name or "@" in name:
        raise PydanticCustomError(
            "bad_name", "a name can't contain '/' or '@'; they separate library, name and version"
        )
    return name


def _check_ref(ref: str) -> str:
    if ref != ref.strip() or not ref.isprintable():
        raise PydanticCustomError(
            "bad_name", "a ref can't begin or end with a space, nor hold control characters or line breaks"
        )
    return ref


Json = Annotated[Any, WithJsonSchema({})]
"""Any JSON value: the document was checked as a whole when it was read (CTX-7)."""

JsonSchema = Annotated[Any, WithJsonSchema({"type": ["object", "boolean"]})]
"""A JSON Schema; `language.schemas.schema_faults` checks it, with better messages than a record could give."""

MappingTemplate = Annotated[
    Any, WithJsonSchema({"description": "a JSON template; texts that start with $ are JSONPath"})
]

NAME_MAX = 200
EnvironmentName = Annotated[str, Field(pattern=r"^[^=\x00]+$", max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_MAX), AfterValidator(_check_name)]
Ref = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_ref)]
Identifier = Annotated[str, Field(min_length=1, max_length=200)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
Description = Annotated[str, Field(max_length=20_000)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]
Milliseconds = Annotated[int, Field(ge=1, le=3_155_760_000_000)]
"""A length of time, at most a century: longer is a slip of the unit."""
Delay = Annotated[int, Field(ge=0, le=3_155_760_000_000)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Total = Annotated[int, Field(ge=1, le=2**53 - 1)]
"""A number of things that may well be more than a Count."""
Cents = Annotated[int, Field(ge=0, le=2**53 - 1)]
Backoff = Literal["none", "linear", "exponential"]
Timestamp = str
"""A point in time, ISO 8601 in UTC."""


class Retry(Record):
    """How often something is tried, the first time included, and how long to wait in between (RET-1)."""

    max_attempts: Annotated[int, Field(ge=1, le=1_000)]
    backoff: Backoff = "exponential"
    initial_delay_ms: Delay = 1_000
    max_delay_ms: Delay | None = None


class FromContext(Record):
    """A value that is read out of the context when it is needed."""

    from_context: Annotated[str, Field(min_length=1, max_length=1_000)]
