"""Metrics for those who watch: the text that Prometheus reads, and small plots for people (EVT-4)."""

import re
from collections.abc import Iterable, Sequence

from wonder.storage.metrics import Total

_BLOCKS = "▁▂▃▄▅▆▇█"


def prometheus_text(totals: Iterable[Total]) -> str:
    """Write metrics as Prometheus reads them: of each, how often it was given and the sum of what it was given."""
    families: dict[str, dict[str, tuple[int, float]]] = {}
    for total in totals:
        # What differs only in a sign that Prometheus does not know is one there.
        labels = _labels([("project", total.project), *total.dimensions.items()])
        family = families.setdefault(_known(total.name, r"[^a-zA-Z0-9_:]"), {})
        count, sum = family.get(labels, (0, 0.0))
        family[labels] = (count + total.times, sum + total.sum)
    lines = []
    for name, series in families.items():
        lines.append(f"# TYPE {name} summary")
        for labels, (count, sum) in series.items():
            lines += [f"{name}_count{labels} {count}", f"{name}_sum{labels} {sum!r}"]
    return "".join(f"{line}\n" for line in lines)


def sparkline(values: Sequence[float | None]) -> str:
    """Draw numbers as a row of blocks, from nothing to the largest; below nothing, from the least.

    Where there is none (None) it is drawn as nothing, and among numbers below nothing as a gap: nothing is high there.
    """
    given = [value for value in values if value is not None]
    least, most = min([0.0, *given]), max([0.0, *given])
    gap = " " if least < 0 else _BLOCKS[0]
    scale = (len(_BLOCKS) - 1) / (most - least) if most > least else 0.0
    return "".join(gap if value is None else _BLOCKS[round((value - least) * scale)] for value in values)


def _known(name: str, unknown: str) -> str:
    """Write a name so that Prometheus reads it; one name that it can't read makes it drop the whole page."""
    known = re.sub(unknown, "_", name)
    return f"_{known}" if known[:1].isdigit() or not known else known


def _labels(dimensions: Iterable[tuple[str, str]]) -> str:
    written: dict[str, str] = {}
    for name, value in dimensions:
        known = _known(name, r"[^a-zA-Z0-9_]")
        while known in written:
            known += "_"
        written[known] = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return "{" + ",".join(f'{name}="{value}"' for name, value in written.items()) + "}"
