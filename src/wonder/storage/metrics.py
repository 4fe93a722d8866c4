"""Metrics as they are stored: numbers by minute, added up to longer steps, or over all time (EVT-4)."""

import json
from typing import NamedTuple

from wonder.storage.runs.cells import number, text
from wonder.storage.store import Reader, Value


class Series(NamedTuple):
    """What a metric with certain dimensions was given within a step of time."""

    name: str
    dimensions: dict[str, str]
    at_ms: int
    """When the step begins."""
    times: int
    sum: float
    min: float
    max: float


class Total(NamedTuple):
    """What a metric with certain dimensions was given in all."""

    project: str
    name: str
    dimensions: dict[str, str]
    times: int
    sum: float


async def metrics_in_steps(
    reader: Reader, project_id: str, from_ms: int, to_ms: int, step_ms: int, name: str | None = None
) -> list[Series]:
    """Read a project's metrics of a time, in steps of whole minutes."""
    rows = await reader.fetch("metrics_in_steps", project_id, from_ms, to_ms, step_ms, name)
    return [
        Series(text(name), _dimensions(dimensions), number(at), number(count), _float(sum), _float(least), _float(most))
        for name, dimensions, at, count, sum, least, most in rows
    ]


async def metrics_in_all(reader: Reader, project_id: str) -> list[Total]:
    """Read the metrics of a project over all time."""
    rows = await reader.fetch("metrics_in_all", project_id)
    return [
        Total(text(project), text(name), _dimensions(dimensions), number(count), _float(sum))
        for project, name, dimensions, count, sum in rows
    ]


def _dimensions(value: Value) -> dict[str, str]:
    read: dict[str, str] = json.loads(text(value))
    return read


def _float(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)
