"""Elements: a ref that names an element of a list as it would name a property, and how it is written instead."""

import re
from collections.abc import Sequence

from wonder.language.schemas.positions import Schema
from wonder.language.schemas.shapes import shape_at


def element_meant(text: str, schema: Schema, path: Sequence[str | int], at: int) -> str | None:
    """Give the ref that was meant where the segment `at` is the number of an element (`users.1`); None if it is not.

    `path` is the part of the ref that lies in `schema`.
    """
    name = path[at]
    if not isinstance(name, str) or not re.fullmatch(r"0|[1-9][0-9]{0,8}", name):
        return None
    if shape_at(schema, (*path[:at], int(name))).kind == "absent" or shape_at(schema, path[:at]).kind != "known":
        return None
    written = re.compile(rf"\.{name}(?=[.\[]|$)")
    # Where the same number stands in it twice, the place alone is told.
    return written.sub(f"[{name}]", text) if len(written.findall(text)) == 1 else f"[{name}]"
