"""The reference workflows, each with its clients: pattern samples, and more for what these do not show."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from proof.crashes.clients import Clients
from proof.crashes.patterns import SCRIPTS, Script, only_runs

_OWN: Final = Path(__file__).parent / "workflows"
_PATTERNS: Final = Path(__file__).parents[2] / "samples" / "patterns"
# How often trains look whether the track is free, is a matter of time.
_BY_TIME: Final = (39,)


class Scenario(NamedTuple):
    """A workflow, what clients do with it, and whether it is always the same tokens that come to be."""

    name: str
    file: Path
    script: Script
    counts_tokens: bool = True
    settings: dict[str, Any] | None = None
    """Settings of the project."""


async def mended(clients: Clients) -> None:
    """Have a failed run retried when its cause is mended."""
    run = await clients.start("proof-mended")
    await clients.ended(run)
    await clients.ended(await clients.retry(run))


async def paused(clients: Clients) -> None:
    """Pause a run that waits, answer it meanwhile, and let it go on."""
    run = await clients.start("proof-steps")
    await clients.asked("Go on?")
    await clients.pause(run)
    await clients.answer("Go on?", "yes")
    await clients.resume(run)
    await clients.ended(run)


async def forked(clients: Clients) -> None:
    """Fork a run where it waits, and answer both."""
    run = await clients.start("proof-steps")
    await clients.asked("Go on?")
    other = await clients.fork(run)
    await clients.answer("Go on?", "yes")
    await clients.answer("Go on?", "yes")
    await clients.ended(run)
    await clients.ended(other)


async def cancelled(clients: Clients) -> None:
    """Cancel one run that waits, and not another."""
    runs = [await clients.start("proof-steps", key=key) for key in ("one", "two")]
    await clients.asked("Go on?", "Go on?")
    await clients.cancel(runs[0])
    await clients.ended(runs[0])
    await clients.cancel(runs[1])
    await clients.ended(runs[1])


async def charges(clients: Clients) -> None:
    """Have two runs charge for the same order."""
    runs = [await clients.start("proof-charges", key=key, order=7) for key in ("one", "two")]
    for run in runs:
        await clients.ended(run)


async def gate(clients: Clients) -> None:
    """Extend a run's time at its gate, and answer it then."""
    run = await clients.start("proof-gate")
    await clients.answer("took longer", {"decision": "extend", "extend_ms": 60_000})
    await clients.answer("Ready?", "yes")
    await clients.ended(run)


async def aborted(clients: Clients) -> None:
    """Abort a run at its gate."""
    run = await clients.start("proof-gate")
    await clients.asked("took longer")
    await clients.answer("took longer", {"decision": "abort"})
    await clients.ended(run)


async def calls(clients: Clients) -> None:
    """Pause a run with its sub-workflow, let both go on, and answer."""
    run = await clients.start("proof-calls")
    await clients.asked("Which one?")
    await clients.pause(run)
    await clients.resume(run)
    await clients.answer("Which one?", "this")
    await clients.ended(run)


async def queue(clients: Clients) -> None:
    """Start three runs where one may go at a time."""
    runs = [await clients.start("proof-queue", key=key) for key in ("one", "two", "three")]
    for run in runs:
        await clients.ended(run)


async def everything(clients: Clients) -> None:
    """Do all that a run of many parts waits for, its event too early."""
    run = await clients.start("proof-everything")
    await clients.send("all", {"n": 1})
    await clients.answer("Go on with all?", "yes")
    await clients.ended(run)


def scenarios() -> dict[str, Scenario]:
    """Give all scenarios by name."""
    files = {int(path.name[:2]): path for path in _PATTERNS.glob("*.yaml")}
    of_patterns = [
        Scenario(files[number].stem, files[number], script, number not in _BY_TIME)
        for number, script in SCRIPTS.items()
    ]
    own = [
        Scenario("timers", _OWN / "timers.yaml", only_runs("proof-timers")),
        Scenario("retries", _OWN / "retries.yaml", only_runs("proof-retries")),
        Scenario("late", _OWN / "late.yaml", only_runs("proof-late")),
        Scenario("mended", _OWN / "mended.yaml", mended),
        Scenario("paused", _OWN / "steps.yaml", paused),
        Scenario("forked", _OWN / "steps.yaml", forked),
        Scenario("cancelled", _OWN / "steps.yaml", cancelled),
        Scenario("charges", _OWN / "charges.yaml", charges),
        Scenario("gate", _OWN / "gate.yaml", gate),
        Scenario("aborted", _OWN / "gate.yaml", aborted),
        Scenario("calls", _OWN / "calls.yaml", calls),
        Scenario("queue", _OWN / "queue.yaml", queue, settings={"rate_limits": {"max_concurrent_runs": 1}}),
        Scenario(
            "everything",
            _OWN / "everything.yaml",
            everything,
            settings={"snapshot_policy": {"every_events": 5, "at_end": True}},
        ),
    ]
    return {scenario.name: scenario for scenario in (*of_patterns, *own)}
