"""Columns: what the columns of generated tables are called and hold, in both dialects."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from wonder.context.forms import ScalarKind

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
ColumnKind: TypeAlias = ScalarKind | Literal["json"]

RUN_ID: Final = "run_id"
REST: Final = "_rest"


class Column(Struct, frozen=True):
    """One typed column: its name for people, what it holds, the path inside the row's value, its name in the table."""

    name: str
    kind: ColumnKind
    path: tuple[str, ...]
    stored: str
