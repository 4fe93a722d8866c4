"""The live view of a run: how far its nodes are, drawn again and again on a terminal, a few lines elsewhere."""

import asyncio
import shutil
import time
from collections import defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING

from wonder.app.application import Application
from wonder.cli.output import color, named
from wonder.cli.own_output import PICTURE, own_output, say
from wonder.cli.progress import ProgressLines
from wonder.cli.questions import question_lines
from wonder.operations.following import Follow, NodeProgress, RunProgress, run_progress
from wonder.operations.run_records import Question

if TYPE_CHECKING:
    from wonder.app.results import RunResult
    from wonder.observe.watching import Watcher

_FRAME_SECONDS = 0.1
_PLAIN_SECONDS = 5.0
_BAR = 24
# A token that waits at a join has its own node behind it.
_DONE = ("completed", "waiting_for_siblings")
_ENDED = (*_DONE, "failed", "timed_out", "cancelled")


async def watch(wonder: Application, run_id: str, *, quiet: bool, to_the_end: bool = False) -> RunProgress:
    """Show a run until it has ended, or waits for a person or an outside event; say how it stands then.

    With `to_the_end`, it is shown while it waits as well.
    """
    view = _View(own_output().isatty() and not quiet)
    watcher: Watcher | None = None
    with ExitStack() as stack:
        end: asyncio.Task[RunResult] | None = None
        if engine := wonder.engine:
            end = asyncio.create_task(wonder.wait(run_id))
            stack.callback(end.cancel)
            if not quiet:
                watcher = stack.enter_context(engine.watchers.watch(run_id))
        while True:
            standing = await run_progress(wonder, Follow(run_id=run_id, nodes=not quiet))
            if watcher:
                view.progress.add(watcher.take())
            if not quiet:
                view.show(standing)
            if standing.run.completed_ms is not None or (standing.is_at_rest and not to_the_end):
                break
            if not quiet:
                view.ask(standing.questions)
            await (asyncio.wait([end], timeout=_FRAME_SECONDS) if end else asyncio.sleep(_FRAME_SECONDS))
    view.close()
    return standing


class _View:
    """Draws over what it drew before on a terminal; elsewhere writes a line now and then."""

    def __init__(self, on_terminal: bool) -> None:
        self.on_terminal = on_terminal
        self.progress = ProgressLines()
        PICTURE.leave()
        self._open: set[str] = set()
        self._asked: set[str] = set()
        self._started = time.monotonic()
        self._written = self._started

    def show(self, standing: RunProgress) -> None:
        """Show how far the nodes are."""
        run = standing.run
        if self.on_terminal:
            width = shutil.get_terminal_size().columns
            lines = [self._line(one, width) for one in standing.nodes]
            elapsed = time.monotonic() - self._started
            PICTURE.draw([*lines, color("dim", f"{run.status} · {elapsed:.1f} s · {run.run_id}")])
        elif time.monotonic() - self._written >= _PLAIN_SECONDS:
            # In a pipe: one line every few seconds, so that a log shows that it goes on.
            self._written = time.monotonic()
            counts = [(one.node, status, count) for one in standing.nodes for status, count in one.tokens.items()]
            done = sum(count for _, status, count in counts if status in _ENDED)
            total = sum(count for _, _, count in counts)
            live = {node for node, status, _ in counts if status not in _ENDED}
            told = "".join(f"; {waits}" for waits in self.progress.in_line(live))
            say(f"{run.status}: {done} of {total} node executions done{told}", flush=True)

    def ask(self, items: list[Question]) -> None:
        """Show questions while the run goes on, each once; at second sight, as a run that stops reports its own."""
        new = [item for item in items if item.id in self._open and item.id not in self._asked]
        self._open = {item.id for item in items}
        self._asked.update(item.id for item in new)
        if new:
            # In the place of the picture, which is drawn again below.
            PICTURE.erase()
        for item in new:
            say("\n".join(question_lines(item)), flush=True)

    def close(self) -> None:
        """Leave the last picture standing."""
        PICTURE.leave()

    def _line(self, node: NodeProgress, width: int) -> str:
        statuses = defaultdict(int, node.tokens)
        line = _line(named(node.node, node.name), statuses)
        if all(status in _ENDED for status, tokens in statuses.items() if tokens):
            return line
        told = self.progress.beside(line, node.node, width)
        return f"{line} {color('dim', told)}" if told else line


def _line(ref: str, statuses: dict[str, int]) -> str:
    total = sum(statuses.values())
    done = sum(statuses[status] for status in _DONE)
    failed = statuses["failed"] + statuses["timed_out"]
    gone = statuses["cancelled"]
    if failed:
        mark = color("error", "✗")
    elif done + gone == total:
        mark = color("good", "✓")
    elif statuses["suspended"]:
        mark = color("warning", "…")
    else:
        mark = color("hint", "▶")
    text = f"{mark} {ref[:40].ljust(24)}"
    if total > 1:
        filled = _BAR * (done + failed + gone) // total
        text += f" {'█' * filled}{color('dim', '░' * (_BAR - filled))} {done}/{total}"
        text += color("error", f" {failed} failed") if failed else ""
    elif statuses["suspended"]:
        text += color("warning", " waits")
    return text
