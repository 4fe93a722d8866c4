"""Whole runs as a table: what was measured, what must be reached, and what is the goal, on each database."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.runs.databases import Database, postgres_databases, sqlite_folder
from benchmarks.runs.measuring import measure_chain, measure_fan_out, measure_growth, measure_throughput
from benchmarks.runs.processes import measure_first_run, measure_parked, measure_recovery

Found = dict[str, Any]


class Row(NamedTuple):
    """One line of the table; targets are texts as the project has set them, empty where there is none."""

    label: str
    measured: str
    must: str
    goal: str


def measure() -> Found:
    """Measure everything; takes some minutes."""
    found: Found = {}
    with sqlite_folder() as folder:
        found["SQLite"] = _measure(folder, fan_outs=[(1_000, 5), (10_000, 1), (100_000, 1)])
        found["SQLite"]["growth"] = _say("growth", lambda: asyncio.run(measure_growth(folder)))
    with postgres_databases() as databases:
        found["PostgreSQL"] = _measure(databases, fan_outs=[(1_000, 5), (10_000, 1)])
    return found


def show(found: Found) -> None:
    """Print the table."""
    rows = [row for name, measured in found.items() for row in _rows(name, measured)]
    widths = [max(len(row[column]) for row in [*rows, Row._fields]) for column in range(3)]
    print(
        "\nruns (a no-op node: one task, one async `python` action, with mappings, schemas, context tables and events)"
    )
    for row in [Row("", "measured", "must reach", "goal"), *rows]:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip())
    print("\ncost as it grows, in µs of CPU for each")
    for label, steps in _growth(found).items():
        print(f"  {label.ljust(28)} " + "   ".join(f"{int(n):>7,}: {cost:8,.1f}" for n, cost in steps))
    print()
    for name, measured in found.items():
        chain, many = measured["chain"], measured["throughput"]
        print(
            f"  {measured['durability']}; rows written per node: {chain['rows_per_node']:.1f} alone, "
            f"{many['rows_per_node']:.1f} of many; c was {chain['c_microseconds']:,.0f} µs beside the chain and "
            f"{many['c_microseconds']:,.0f} µs beside many runs on {name}"
        )


def _measure(database: Database, fan_outs: list[tuple[int, int]]) -> Found:
    def beside(what: str, work: Callable[[], Any]) -> Any:
        return _say(f"{what} on {database.name}", work)

    return {
        "durability": asyncio.run(database.durability()),
        "chain": beside("a chain", lambda: asyncio.run(measure_chain(database))),
        "throughput": beside("many runs", lambda: asyncio.run(measure_throughput(database))),
        "fan_out": [
            beside(
                f"{count:,} branches",
                lambda count=count, rounds=rounds: asyncio.run(  # type: ignore[misc]  # bound now
                    measure_fan_out(database, count, rounds)
                ),
            )
            for count, rounds in fan_outs
        ],
        "parked": beside("parked runs", lambda: measure_parked(database)),
        "recovery": beside("kill -9", lambda: measure_recovery(database)),
        "first_run": beside("the first run", lambda: measure_first_run(database)),
    }


def _say(what: str, work: Callable[[], Any]) -> Any:
    print(f"measuring {what} …", file=sys.stderr)
    return work()


def _rows(name: str, found: Found) -> list[Row]:
    on_sqlite = name == "SQLite"
    chain, many, parked = found["chain"], found["throughput"], found["parked"]
    rows = [
        Row(
            f"{name}: a node of a chain of 50, alone",
            f"{chain['multiples_of_c']:.2f}c ({chain['microseconds']:,.0f} µs, c {chain['c_microseconds']:,.0f} µs)",
            "1.7c" if on_sqlite else "2.2c",
            "1.3c" if on_sqlite else "1.5c",
        ),
        Row(
            f"{name}: 1,000 runs of 5 nodes at once",
            f"{many['nodes_per_second']:,.0f} nodes/s (best {many['best_nodes_per_second']:,.0f})",
            "7,000/s" if on_sqlite else "4,200/s",
            "18,000/s" if on_sqlite else "10,000/s",
        ),
    ]
    if on_sqlite:
        rows += [Row("… in nodes per c", f"{many['nodes_per_c']:.2f}", "1.75", "4.5")]
    cpu = f"{many['cpu_microseconds']:.0f} µs (best {many['best_cpu_microseconds']:.0f})"
    rows += [Row("… CPU per node", cpu, "130 µs" if on_sqlite else "", "50 µs" if on_sqlite else "")]
    for fan_out in found["fan_out"]:
        count = int(fan_out["branches"])
        # Fewer branches fit into memory that earlier measurements have left.
        memory = f", {fan_out['peak_bytes_per_branch'] / 1024:.1f} KiB a branch" if count == 100_000 else ""
        targets = ("0.15 s", "0.05 s") if count == 1_000 else ("2 KiB a branch" if memory else "", "linear")
        rows.append(Row(f"{name}: fan-out to {count:,} and join", f"{fan_out['seconds']:.3f} s{memory}", *targets))
    rows += [
        Row(
            f"{name}: {int(parked['runs']):,} parked runs",
            f"{parked['bytes_per_run'] / 1024:.2f} KiB each, made in {parked['seconds']:.1f} s; "
            f"{parked['bytes_per_further_run'] / 1024:.2f} KiB for each of as many more",
            "1 KiB, 3 s",
            "RSS flat",
        ),
        Row(
            f"{name}: kill -9 with 1,000 runs, to the end of all", f"{found['recovery']['seconds']:.2f} s", "4 s", "2 s"
        ),
        Row(f"{name}: process start to end of first run", f"{found['first_run']['seconds']:.2f} s", "0.5 s", "0.3 s"),
    ]
    return rows


def _growth(found: Found) -> dict[str, list[tuple[float, float]]]:
    shown = {
        label: [(step["count"], step["microseconds"]) for step in steps]
        for label, steps in found["SQLite"]["growth"].items()
    }
    branches = [(one["branches"], one["cpu_microseconds_per_branch"]) for one in found["SQLite"]["fan_out"]]
    return {**shown, "branches of a fan-out": branches}
