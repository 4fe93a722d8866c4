"""The input that a schedule gives its runs: JSON in which a text such as `@time` stands for what was planned."""

import re
from collections.abc import Iterator

from wonder.language.schedules.calendar import date_of
from wonder.language.schedules.zones import Zone
from wonder.language.values import JsonValue

REFS = ("@time", "@local_time", "@date", "@time_ms", "@schedule")
_REF = re.compile(r"@(?!@)")
_DAY = 86_400


def input_refs(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Give every ref of an input, with where it stands."""
    if isinstance(value, str):
        if _REF.match(value):
            yield path, value
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from input_refs(element, (*path, key))
    elif isinstance(value, list):
        for place, element in enumerate(value):
            yield from input_refs(element, (*path, place))


def fill_input(template: JsonValue, planned_ms: int, zone: Zone, schedule: str) -> JsonValue:
    """Put what was planned in the place of refs; one that is not in `REFS` stays as it is, which checks reject.

    Only a whole text is a ref, and `@@x` is the text `@x` (PHS-2).
    """
    if isinstance(template, dict):
        return {key: fill_input(element, planned_ms, zone, schedule) for key, element in template.items()}
    if isinstance(template, list):
        return [fill_input(element, planned_ms, zone, schedule) for element in template]
    if not isinstance(template, str) or not template.startswith("@"):
        return template
    offset = zone.offset(planned_ms // 1_000)
    match template:
        case "@time":
            return show_time(planned_ms)
        case "@local_time":
            return show_time(planned_ms, offset)
        case "@date":
            return str(date_of((planned_ms // 1_000 + offset) // _DAY))
        case "@time_ms":
            return planned_ms
        case "@schedule":
            return schedule
    return template[1:] if template.startswith("@@") else template


def show_time(ms: int, offset: int | None = None) -> str:
    """Write a time as RFC 3339 does: in UTC with a Z, or as clocks show it that are so many seconds ahead."""
    seconds, milliseconds = divmod(ms, 1_000)
    days, of_day = divmod(seconds + (offset or 0), _DAY)
    fraction = f".{milliseconds:03}" if milliseconds else ""
    sign, minutes = ("-" if (offset or 0) < 0 else "+"), abs(offset or 0) // 60
    place = "Z" if offset is None else f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"{date_of(days)}T{of_day // 3_600:02}:{of_day // 60 % 60:02}:{of_day % 60:02}{fraction}{place}"
