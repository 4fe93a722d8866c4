"""Schedules in definition files: what they take, and what is wrong with them, told at its place."""

from typing import Any

import pytest

from support.definitions import noop, workflow
from wonder.definitions.catalog import Catalog
from wonder.definitions.loading import load_text, load_value
from wonder.storage.zones import announce_zones

INPUT = {"type": "object", "required": ["day"], "properties": {"day": {"type": "string", "pattern": "^[0-9-]{10}$"}}}


@pytest.fixture(autouse=True)
def _zones() -> None:
    announce_zones()


def faults(**schedule: Any) -> list[tuple[str, str, str]]:
    """Give the code, the place below the schedule, and the message of each fault of a file with one schedule."""
    own = {"cron": "@daily", "input": {"day": "@date"}} | schedule
    file = {
        **workflow({"a": noop()}, input_schema=INPUT),
        "schedules": {"s": {name: value for name, value in own.items() if value is not ...}},
    }
    found = load_value(file).check(Catalog())
    return [(one.code, ".".join(map(str, one.path[2:])), f"{one.message} ({one.hint})") for one in found]


@pytest.mark.parametrize(
    ("schedule", "code", "place", "words"),
    [
        ({"cron": ...}, "cron_or_interval", "", "exactly one of 'cron' and 'every_ms' (add 'cron: 30 2 * * *'"),
        ({"every_ms": 1_000}, "cron_or_interval", "", "exactly one of 'cron' and 'every_ms' (keep one of them)"),
        ({"cron": "61 * * * *"}, "bad_cron", "cron", "'61' is no minute; write 0 to 59"),
        ({"cron": "0 0 30 2 *"}, "bad_cron", "cron", "it never comes"),
        ({"every_ms": 10, "cron": ...}, "out_of_range", "every_ms", "at least 1,000"),
        ({"time_zone": "Europe/Berln"}, "bad_time_zone", "time_zone", "did you mean 'Europe/Berlin'?"),
        ({"time_zone": "Mars/Base"}, "bad_time_zone", "time_zone", "such as Europe/Berlin or UTC"),
        ({"time_zone": "PST"}, "bad_time_zone", "time_zone", "such as Europe/Berlin or UTC"),  # and not EST
        ({"time_zone": "utc"}, "bad_time_zone", "time_zone", "did you mean 'UTC'?"),
        ({"starts_at": "2026-02-30"}, "bad_moment", "starts_at", "there is no such day"),
        ({"ends_at": "next week"}, "bad_moment", "ends_at", "write 2030-01-31, or 2030-01-31T08:00:00Z"),
        ({"starts_at": "2027-01-01", "ends_at": "2026-01-01"}, "never_comes", "ends_at", "choose a later end"),
        ({"workflow": "other"}, "missing_ref", "workflow", "there is no workflow 'other'"),
        ({"workflow": "test@2"}, "bad_reference", "workflow", "which version runs is its pin"),
        ({"input": {"day": "@today"}}, "missing_ref", "input.day", "write one of @time, @local_time, @date"),
        ({"input": {}}, "input_refused", "input", "day"),
        ({"input": {"day": "@time"}}, "input_refused", "input", "a string that matches"),
        ({"input": {"day": "@time_ms"}}, "input_refused", "input", "string"),
        ({"overlap": "never"}, "bad_choice", "overlap", "'skip'"),
        ({"jitter_ms": -1}, "out_of_range", "jitter_ms", "0"),
        ({"crom": "@daily"}, "unknown_field", "crom", "did you mean 'cron'?"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_told_with_a_way_to_mend_it(
    schedule: dict[str, Any], code: str, place: str, words: str
) -> None:
    found = faults(**schedule)
    assert [(fault[0], fault[1]) for fault in found if fault[0] == code] == [(code, place)], found
    assert words in next(fault[2] for fault in found if fault[0] == code)


def test_a_schedule_that_is_right_has_no_faults() -> None:
    assert faults() == []
    assert faults(time_zone="America/St_Johns", starts_at="2026-03-08T02:30", ends_at="2030-01-01 00:00+05:30") == []
    assert faults(cron=..., every_ms=1_000, workflow="test") == []


def test_all_faults_of_several_schedules_are_told_at_once_each_at_its_line() -> None:
    text = """\
workflow: {name: w, initial_node: a, nodes: {a: {action: {kind: update_context, implementation: {updates: []}}}}}
schedules:
  one:
    cron: "* * *"
    time_zone: Nowhere
  two: {every_ms: 5000, starts_at: tomorrow morning}
"""
    found = load_text(text, "file.yaml").check(Catalog())
    places = [(one.code, one.place.line if one.place else 0) for one in found]
    assert places == [("bad_cron", 4), ("bad_time_zone", 5), ("bad_moment", 6)]


def test_a_file_with_only_schedules_has_to_name_their_workflow() -> None:
    found = load_value({"schedules": {"s": {"cron": "@daily"}}}).check(Catalog())
    assert [(one.code, one.path) for one in found] == [("missing_field", ("schedules", "s", "workflow"))]
    # The file has one, which is wrong: that is told, and nothing that only follows from it.
    found = load_value({"workflow": {"name": "w"}, "schedules": {"s": {"cron": "@daily"}}}).check(Catalog())
    assert {one.path[0] for one in found} == {"workflow"}


def test_a_schedule_stands_beside_a_workflow_in_the_phase_form() -> None:
    """FIL-5: the workflow is known once it is compiled, and nothing is said of it before."""
    steps = [[{"name": "nap", "sleep": {"ms": 1}}]]
    for file in ({"name": "naps", "steps": steps}, {"workflow": {"name": "naps", "steps": steps}}):
        found = load_value({**file, "schedules": {"s": {"cron": "@daily"}, "t": {"cron": "@nightly"}}})
        codes = {(one.code, one.path[:2]) for one in found.check(Catalog())}
        assert {code for code in codes if code[1][:1] == ("schedules",)} == {("bad_cron", ("schedules", "t"))}
