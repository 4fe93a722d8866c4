"""Measures everything in this folder, prints it as a table and writes it to benchmarks/results/.

The small parts come first, in microseconds; then whole runs, on both databases. Names of benchmarks choose among them.
"""

import json
import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.runs import table
from wonder.engine import decide

FOLDER = Path(__file__).parent
PACKAGE = "wonder-workflows"
RUNS = "runs"
# `make compiled`
IS_COMPILED = not str(decide.__file__).endswith(".py")
# Microseconds that the project set itself as targets; measured on an idle machine, never a test that can fail.
TARGETS = {
    "evaluating a condition": 3,
    "apply a mapping of 3 plain paths": 3,
    "validating a document of 1 KB": 10,
    "reading a definition of 100 nodes": 20_000,
    "deploying it on SQLite, checks included": 50_000,
    "a warm transform of 1 KB": 400,
    "3,000 transforms of 1 KB at once, each": 333,
    "creating a workflow of 20 typed steps, compiler not loaded": 1_000_000,
    "with transforms that were compiled before": 200_000,
}


def main() -> None:
    """Run every benchmark of this folder, or those whose names are given."""
    parts = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    wanted = sys.argv[1:] or [*parts, RUNS]
    rows = [(name, label, value) for name in wanted if name != RUNS for label, value in _measure(name)]
    runs = table.measure() if RUNS in wanted else None
    width = max((len(label) for _, label, _ in rows), default=0)
    for name in dict.fromkeys(name for name, _, _ in rows):
        print(f"\n{name}")
        for _, label, value in (row for row in rows if row[0] == name):
            target = TARGETS.get(label)
            print(f"  {label.ljust(width)} {value:12,.2f} µs" + (f"   target {target:,}" if target else ""))
    if runs:
        table.show(runs)
    build = "compiled" if IS_COMPILED else "pure Python"
    python = platform.python_version()
    print(f"\nWonder {version(PACKAGE)}, {build}, on Python {python}; written to {_write(rows, runs)}")


def _measure(name: str) -> list[tuple[str, float]]:
    print(f"measuring {name} …", file=sys.stderr)
    found: list[tuple[str, float]] = import_module(f"benchmarks.bench_{name}").measure()
    return found


def _write(rows: list[tuple[str, str, float]], runs: table.Found | None) -> Path:
    now = datetime.now(UTC)
    folder = FOLDER / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    found = {
        "wonder": version(PACKAGE),
        "compiled": IS_COMPILED,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "measured_at": now.isoformat(),
        "runs": runs,
        "microseconds": [{"benchmark": name, "what": label, "value": value} for name, label, value in rows],
    }
    path.write_text(json.dumps(found, indent=2) + "\n")
    return path.relative_to(FOLDER.parent)


if __name__ == "__main__":
    main()
